"""The class's page: everybody's points, each exercise's, frequent mistakes, and what most guessed wrong.

A mistake is what judge's messages have in common without the numbers of one submission. Guesses stand on the pages of a
desk, so only those count who handed in a whole one. They are read where they were graded, without trust: of a page that
is too large, a link or no notebook there is no guess.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_lib.desk import DeskError, outline
from course_lib.desk.cells import NoNotebook, cells_in
from course_lib.desk.files import course_folder
from course_lib.desk.guesses import judged, questions_of
from course_lib.grading.judge import Grade
from course_lib.grading.reports.page import page, table
from course_lib.grading.submissions.files import Unreadable, read
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


MistakeOf = tuple[str, str]  # the exercise, and what went wrong

# Of the judge's messages: see `judge/requests.py` and `judge/grader.py`.
UNWRITTEN = re.compile(r"\bnot attempted yet: |^no cell defines \w+$")
LONGEST = 400
GROUP = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
VALUE = re.compile(r"-?\d+(?:[.,e+-]+\d+)*")


def attempted(grade: Grade) -> bool:
    """Whether there was an answer to judge: not what the page gives, and not a function of another name.

    >>> attempted(Grade("02a", "", 0, 2, ["not attempted yet: the function still raises NotImplementedError"]))
    False
    """
    return not grade.state and not any(UNWRITTEN.search(message) for message in grade.messages[:1])


def mistake_of(message: str) -> str:
    """What went wrong, in words that two students with the same mistake have in common.

    >>> mistake_of("twelve clusters: crossover(0.3, 2e8) is 5, you gave 4. That is the last n: one more")
    'That is the last n: one more'
    >>> mistake_of("world_size 3, batch 2: rank 1 divided the sum by the number of ranks")
    'a rank divided the sum by the number of ranks'
    """
    first_line = re.sub(r"\brank \d+", "a rank", message.split("\n")[0])
    text = first_line.split(": ", 1)[-1]
    reason = re.search(r"you gave .*?[^.]\. (.+)", text)
    if reason:
        return _short(reason[1])
    first, _, rest = text.partition(". ")
    if rest and VALUE.search(first):
        return _short(rest)
    return _short(_without_values(text))


def frequent_mistakes(grades: Iterable[Grade]) -> list[tuple[MistakeOf, int]]:
    """How many of these grades lost points by each mistake, the most frequent first.

    Of several messages about an exercise the first one counts. What was not attempted is no mistake.
    """
    lost = [grade for grade in grades if attempted(grade) and grade.points < grade.most and grade.messages]
    counts = Counter((grade.exercise, mistake_of(grade.messages[0])) for grade in lost)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _short(text: str) -> str:
    """At most so many letters, whole words, and a sign that there were more."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(maxsplit=1)[0]} …"


def _without_values(text: str) -> str:
    """The text with dots in the place of numbers and of what stands in brackets."""
    before = ""
    while before != text:
        before, text = text, GROUP.sub("…", text)
    return VALUE.sub("…", text)


MOST = 3  # questions of a chapter
MARKS = re.compile(r"\*+|`|<[^>]*>")


def wrong_guesses(by_student: Mapping[str, Sequence[Graded]]) -> str:
    """For each chapter that somebody guessed in, the three questions that most got wrong; the last chapter stands open.

    HTML; empty if nobody handed in a desk with guesses, or the course's own pages are not here.
    """
    try:
        chapters = outline()
    except DeskError:
        return ""
    desks = {student: set(_desks(handed_in)) for student, handed_in in by_student.items()}
    parts: list[str] = []
    for chapter in reversed(chapters):
        found = [_guesses(those, Path(chapter.page)) for those in desks.values()]
        guessed = Counter(name for one in found for name in one)
        wrong = Counter(name for one in found for name, right in one.items() if not right)
        if not guessed:
            continue
        title = f"Chapter {chapter.number}, {escape(chapter.title)}: {sum(map(bool, found))} with guesses"
        rows = _table(Path(chapter.page), guessed, wrong)
        parts.append(f"<details{'' if parts else ' open'}><summary>{title}</summary>{rows}</details>")
    return "\n".join(parts)


def _desks(handed_in: Iterable[Graded]) -> Iterator[Path]:
    """The desks that these notebooks lie on."""
    for one in handed_in:
        folder = Path(one.notebook).parent
        if folder.name == "exercises" and (folder.parent / "notebooks").is_dir():
            yield folder.parent


def _guesses(desks: Iterable[Path], page: Path) -> dict[str, bool]:
    """Which of a student's guesses on this page were right, by question; of several desks any one counts."""
    found: dict[str, bool] = {}
    for desk in sorted(desks):
        with contextlib.suppress(NoNotebook, Unreadable):
            found = judged(page.stem, cells_in(read(desk / page)[0])) | found
    return found


def _table(page: Path, guessed: Counter[str], wrong: Counter[str]) -> str:
    """A row for each of the three, most often wrong first; a sentence if nobody was wrong."""
    if not wrong:
        return "<p>All guesses were right.</p>"
    cells = {cell.id: cell.source for cell in cells_in((course_folder() / page).read_bytes())}
    order = sorted(wrong, key=lambda name: (-wrong[name], guessed[name]))[:MOST]
    rows = [
        (
            _question(cells.get(name, name)),
            escape(f"{questions_of(page.stem)[name].right}"),
            f"{wrong[name]} of {guessed[name]}",
        )
        for name in order
    ]
    return table(["question", "right is", "guessed wrong"], rows, numbers=[2])


def _question(source: str) -> str:
    """The question in a cell, without marks of Markdown."""
    _, mark, asked = source.rpartition("**Question.**")
    words = (asked if mark else source).replace("**Prediction.**", " ").strip().partition("\n\n")[0]
    return escape(" ".join(MARKS.sub("", words).split()))
