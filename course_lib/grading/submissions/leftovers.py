"""What a lecturer should know of a class's folder: what in it is not graded, and whose names look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from course_lib.grading.submissions import files
from course_lib.grading.submissions.folder import Submission
from course_lib.grading.submissions.holds import defined_beyond
from course_lib.grading.submissions.names import copy_of


def leftovers(path: Path, submissions: Sequence[Submission], chapter: str = "") -> list[str]:
    """What in this folder is not graded, and why, a sentence each; and whose names could be one student's."""

    def shown(place: Path) -> str:
        return files.plain(str(place.relative_to(path) if place.is_relative_to(path) else place.name))

    unread = {one.path: one.problem for one in submissions if one.problem}
    said = [f"Nothing to grade in {shown(place)}: {problem}" for place, problem in unread.items()]
    for _, those in groupby(files.beside(path), key=lambda one: one.student):
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
