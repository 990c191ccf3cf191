"""What a lecturer reads on the terminal: grades as tables, what of a folder was not graded, whose names look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from course_lib.grading.judge import Grade
from course_lib.grading.submissions import files
from course_lib.grading.submissions.files import copy_of
from course_lib.grading.submissions.folder import JUDGE_ERROR, NOT_READ, Graded, Submission, defined_beyond
from course_lib.grading.submissions.gradebook import best_of

WORDS = {NOT_READ: "–", JUDGE_ERROR: "?"}  # in the place of points that are no grade


def one_table(graded: Graded) -> Table:
    """One submission: its exercises with what is wrong."""
    table = Table(title=escape(f"{graded.student}: {graded.points:g} of {graded.most:g} points"), show_lines=True)
    table.add_column("exercise", max_width=28)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what the judge says", overflow="fold")
    for g in graded.grades:
        state = f"{g.state}: " if g.state else ""
        text = state + "\n".join(g.messages) or "right"
        text += f"\n(judged on {g.way})" if g.way else ""
        points = f"{_colored(g)} of {g.most:g}"
        table.add_row(escape(f"{g.exercise} {g.title}"), points, escape(text))
    return table


def class_tables(graded: Sequence[Graded]) -> list[Table]:
    """Many submissions, a table for each chapter that they are for."""
    by_chapter: dict[str, list[Graded]] = {}
    for one in graded:
        by_chapter.setdefault(one.grades[0].exercise[:2] if one.grades else "-", []).append(one)
    return [class_table(by_chapter[chapter]) for chapter in sorted(by_chapter)]


def class_table(graded: Sequence[Graded]) -> Table:
    """Students' points by exercise, the most that each gives in its head. What is wrong is in the files.

    Of several notebooks by one student each exercise counts once, by its best grade.
    """
    submissions, graded = len(graded), best_of(graded)
    most = {g.exercise: g.most for one in graded for g in one.grades if g.exercise != "-"}
    ids = sorted(most)
    table = Table(
        title=f"{submissions} submission{'s' if submissions != 1 else ''}",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
        pad_edge=False,
    )
    table.add_column("student", overflow="fold", min_width=12)
    for name in ids:
        table.add_column(f"{name}\nof {most[name]:g}", justify="right", no_wrap=True)
    table.add_column(f"total\nof {sum(most.values()):g}", justify="right", no_wrap=True)
    for one in graded:
        grades = {g.exercise: g for g in one.grades}
        row = [_colored(grades[name]) if name in grades else "" for name in ids]
        table.add_row(escape(_named(one)), *row, _total(one))
    return table


def _named(one: Graded) -> str:
    """The student, and what the points do not say: why there are none, how many versions there were."""
    unread = next((f": {NOT_READ}, {g.messages[0]}" for g in one.grades if g.state == NOT_READ), "")
    failed = sum(g.state == JUDGE_ERROR for g in one.grades)
    again = f" ({one.tries} versions)" if one.tries > 1 else ""
    again += f" (best of {one.of} notebooks)" if one.of > 1 else ""
    return one.student + again + (unread or (f": {JUDGE_ERROR} in {failed}, go on with --resume" if failed else ""))


def _colored(grade: Grade) -> str:
    if grade.state:
        return f"[magenta]{WORDS[grade.state]}[/]"
    color = "green" if grade.points == grade.most else "red" if not grade.points else "yellow"
    return f"[{color}]{grade.points:g}[/]"


def _total(one: Graded) -> str:
    """The sum, unless some of its points are no grades."""
    if any(g.state == JUDGE_ERROR for g in one.grades):
        return f"[magenta]{one.points:g} + ?[/]"
    state = "" if one.settled else NOT_READ
    return _colored(Grade("", "", one.points, one.most, [], state=state))


def leftovers(path: Path, submissions: Sequence[Submission], chapter: str = "") -> list[str]:
    """What in this folder is not graded, and why, a sentence each; and whose names could be one student's."""

    def shown(place: Path) -> str:
        return files.plain(str(place.relative_to(path) if place.is_relative_to(path) else place.name))

    unread = {one.path: one.problem for one in submissions if one.problem}
    said = [f"Nothing to grade in {shown(place)}: {problem}" for place, problem in unread.items()]
    for _, those in groupby(files.not_graded(path), key=lambda one: one.student):
        said.append(f"Not graded: {', '.join(shown(one.path) for one in those)}")
    said += [] if chapter else _other_chapters(submissions, shown)
    return said + _alike({one.student for one in submissions})


def _other_chapters(submissions: Sequence[Submission], shown: Callable[[Path], str]) -> list[str]:
    """Who wrote single answers of a chapter into a notebook that is graded as another's."""
    graded: dict[Path, list[str]] = {}
    for one in submissions:
        if one.cells and one.chapter:
            graded.setdefault(one.path, []).append(one.chapter)
    cells = {one.path: one.cells for one in submissions}
    found = {place: defined_beyond(cells[place], chapters) for place, chapters in graded.items()}
    return [
        f"{shown(place)} also has {', '.join(those)}, not graded: --chapter {those[0][:2]} grades these"
        for place, those in found.items()
        if those
    ]


def _alike(students: set[str]) -> list[str]:
    """Pairs of students whose names differ in capitals only, or in what a copy's name has more."""
    said = []
    for student in sorted(students):
        other = next((each for each in students if each > student and each.casefold() == student.casefold()), "")
        other = other or copy_of(student, students)[0]
        if other:
            said.append(f"{student} and {other} are graded as two students: if they are one, rename the file or folder")
    return said
