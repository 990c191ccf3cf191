"""What counts of all that a student handed in: of each exercise the best grade, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from course_lib.grading.judge.grader import Grade
from course_lib.grading.submissions.folder import JUDGE_ERROR, Graded


def best_of(handed_in: Iterable[Graded]) -> list[Graded]:
    """One for each student and chapter, in order; what could not be read at all stays as it is.

    Where several notebooks are for one chapter, each exercise counts once, by its best grade, and `sources` says which
    file that is from. Of equal grades the one counts that stands in the notebook with the most points.
    """
    together: dict[tuple[str, str], list[Graded]] = {}
    for one in sorted(handed_in, key=lambda one: one.key):
        chapter = one.key[2]
        alone = one.notebook if chapter in ("", "-") else ""
        together.setdefault((one.student, chapter + alone), []).append(one)
    return [_best(those) if len(those) > 1 else those[0] for those in together.values()]


def with_what_counts(handed_in: Iterable[Graded]) -> Iterator[tuple[Graded, Grade, bool]]:
    """Every grade with what it is part of, and whether it counts: those that do have each exercise once."""
    handed_in = list(handed_in)
    best = {id(grade) for one in best_of(handed_in) for grade in one.grades}
    yield from ((one, grade, id(grade) in best) for one in handed_in for grade in one.grades)


def _best(those: list[Graded]) -> Graded:
    those = sorted(those, key=lambda one: -one.points)
    found: dict[str, tuple[Grade, Graded]] = {}
    for one in those:
        for grade in one.grades:
            if grade.exercise not in found or _rank(grade) > _rank(found[grade.exercise][0]):
                found[grade.exercise] = grade, one
    grades = [found[name][0] for name in sorted(found)]
    sources = {name: one.notebook for name, (_, one) in found.items()}
    used = [one for one in those if one.notebook in sources.values()]
    tries = max(one.tries for one in those)
    return replace(used[0], notebook=_names(used), grades=grades, tries=tries, sources=sources, of=len(those))


def _rank(grade: Grade) -> tuple[bool, bool, bool, float]:
    """All points first, then what the judge still owes, then the points."""
    return grade.points == grade.most > 0, grade.state == JUDGE_ERROR, not grade.state, grade.points


def _names(used: list[Graded]) -> str:
    """The files that count, as one line; where they share a folder it stands there once."""
    names = [one.notebook for one in used]
    return " and ".join([names[0], *(PurePath(name).name for name in names[1:])])
