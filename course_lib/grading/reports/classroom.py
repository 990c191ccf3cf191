"""The class's page: everybody's points, each exercise's, and the mistakes that many made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from course_lib.grading.reports.guesses import wrong_guesses
from course_lib.grading.reports.mistakes import attempted, frequent_mistakes
from course_lib.grading.reports.page import page, table
from course_lib.grading.submissions.folder import Graded

MAX_MISTAKES = 12


def class_page(by_student: Mapping[str, Sequence[Graded]], links: Mapping[str, str], absent: Sequence[str] = ()) -> str:
    """The page about the class; `links` has the file of each student's own page, `absent` who handed in nothing."""
    grades = [grade for handed_in in by_student.values() for one in handed_in for grade in one.grades]
    without = sum(bool(grade.state) for grade in grades)
    body = [f"<p>{len(by_student)} students, {len(grades)} answers to exercises.</p>"]
    body += [f"<p><strong>{without} answers have no grade</strong>: see the students' pages.</p>"] * bool(without)
    body += ["<h2>Frequent mistakes</h2>", _mistakes(by_student)]
    guesses = wrong_guesses(by_student)
    body += ["<h2>What most guessed wrong</h2>", guesses] * bool(guesses)
    body += ["<h2>Exercises</h2>", _exercises(by_student)]
    body += ["<h2>Students</h2>", _students(by_student, links)]
    body += [f"<p>Nothing handed in: {escape(', '.join(absent))}.</p>"] * bool(absent)
    return page("The class", body)


def _mistakes(by_student: Mapping[str, Sequence[Graded]]) -> str:
    """A bar for each mistake: how many made it, of the class, and in words, of those who attempted this exercise."""
    grades = [grade for handed_in in by_student.values() for one in handed_in for grade in one.grades]
    found = frequent_mistakes(grades)
    if not found:
        return "<p>None: every answer that was attempted has all points.</p>"
    tried = Counter(grade.exercise for grade in grades if attempted(grade))
    students = len(by_student)
    rows = []
    for (exercise, mistake), count in found[:MAX_MISTAKES]:
        words = f"{count} of {tried[exercise]}"
        share = f"{count} of {students} students made it"
        bar = f'<div class=bar style="width:{100 * count / students:.0f}%"></div>'
        whole = f'<div class=class role="img" aria-label="{share}">{bar}</div>'
        rows.append((escape(exercise), f"{escape(mistake)}{whole}", words))
    more = len(found) - len(rows)
    note = f"<p>And {more} more, each of {found[len(rows)][1]} or fewer.</p>" if more > 0 else ""
    scale = f"<p>A whole bar is all {students} students; the numbers are of those who attempted the exercise.</p>"
    return scale + table(["exercise", "what went wrong", "students"], rows, numbers=[2]) + note


def _exercises(by_student: Mapping[str, Sequence[Graded]]) -> str:
    grades: dict[str, list[Any]] = {}
    for handed_in in by_student.values():
        for grade in (grade for one in handed_in for grade in one.grades if not grade.state):
            grades.setdefault(grade.exercise, []).append(grade)
    rows = []
    for exercise, those in sorted(grades.items()):
        mean = sum(grade.points for grade in those) / len(those)
        right = sum(grade.points == grade.most for grade in those)
        tried = sum(map(attempted, those))
        title, points = escape(those[0].title), f"{mean:.1f} of {those[0].most:g}"
        rows.append((escape(exercise), title, points, f"{right} of {len(those)}", f"{tried} of {len(those)}"))
    return table(["exercise", "", "mean points", "all points", "attempted"], rows, numbers=[2, 3, 4])


def _students(by_student: Mapping[str, Sequence[Graded]], links: Mapping[str, str]) -> str:
    chapters = sorted({one.key[2] for handed_in in by_student.values() for one in handed_in} - {"", "-"})
    rows = []
    for student, handed_in in sorted(by_student.items()):
        points = {one.key[2]: one.points for one in handed_in if one.settled}
        open_ = {one.key[2]: "?" for one in handed_in if not one.settled}
        total = sum(points.values())
        cells = [f"{points[chapter]:g}" if chapter in points else open_.get(chapter, "") for chapter in chapters]
        link = f'<a href="{quote(links[student])}">{escape(student)}</a>'
        rows.append((link, *cells, f"{total:g}{' + ?' if open_ else ''}"))
    note = "<p>? is a chapter that has answers without a grade.</p>" * any(" + ?" in row[-1] for row in rows)
    return table(["student", *chapters, "all"], rows, numbers=range(1, len(chapters) + 2)) + note
