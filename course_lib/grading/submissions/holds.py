"""Which chapters a notebook holds, by the functions that it defines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from course_lib.desk.files import DeskError, course_folder
from course_lib.grading import exercises
from course_lib.grading.exercise import Exercise
from course_lib.grading.submissions.files import Unreadable, read
from course_lib.grading.submissions.notebook import Cell, cells_of, defines


def chapters_in(cells: Sequence[Cell], name: str = "") -> list[str]:
    """The chapters that these cells hold: the one of which they define most exercises, and others of which half.

    Where they define none, the one that the file's name begins with, else the one they name.
    """
    counts = {chapter: _counts(cells, exercises.exercises_of(chapter)) for chapter in exercises.chapters()}
    best = max(counts, key=lambda chapter: counts[chapter], default="")
    if best and not counts[best][0] and name[:2] in counts:
        return [name[:2]]
    if not best or not any(counts[best]):
        return []
    half = (each for each, (defined, _) in counts.items() if 2 * defined >= len(exercises.exercises_of(each)))
    return [best, *(each for each in half if each != best)]


def defined_beyond(cells: Sequence[Cell], graded: Iterable[str]) -> list[str]:
    """The exercises of other chapters than these of which the cells define the function, and their page does not."""
    sources, graded = [source for _, source in cells], list(graded)
    names = {exercise.function for chapter in graded for exercise in exercises.exercises_of(chapter)}
    given = [source for chapter in graded for _, source in given_for(chapter)]
    others = (each for chapter in exercises.chapters() for each in exercises.exercises_of(chapter))
    return [
        each.id
        for each in others
        if each.function not in names and _define(sources, each.function) and not _define(given, each.function)
    ]


def given_for(chapter: str) -> list[Cell]:
    """The cells of the course's own exercises of this chapter; none without the course's pages."""
    try:
        pages = sorted((course_folder() / "exercises").glob(f"{chapter}_*.ipynb"))
    except DeskError:
        return []
    return [cell for page in pages for cell in as_given(page.name)]


def _define(sources: Iterable[str], function: str) -> bool:
    return any(defines(source, function) for source in sources)


def _counts(cells: Sequence[Cell], those: Iterable[Exercise]) -> tuple[int, int]:
    """For how many of these exercises they define a function, and how many they name: there are many ways to define."""
    sources, names = [source for _, source in cells], [one.function for one in those]
    named = [name for name in names if any(name in source for source in sources)]
    return sum(_define(sources, name) for name in named), len(named)


@cache
def as_given(name: str) -> list[Cell]:
    """The cells of the course's own exercises of this name; none if there are none."""
    try:
        return cells_of(read(course_folder() / "exercises" / name)[0])
    except (DeskError, Unreadable):
        return []
