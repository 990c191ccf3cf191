"""How a notebook is read for one answer: the statements it needs alone, all cells up to its check, or the whole.

An answer is worth what it was worth where its check stands. The first reading finds helpers in whatever cell, and runs
nothing else; but no rule could find all that one statement does to another. So before an answer loses a point it is
judged again as a notebook runs: on each cell up to the last one that checks it (or, unchecked, defines it), in order,
and then on all cells. The best counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from course_lib.grading.exercise import CASE_S, Exercise
from course_lib.grading.sandbox.cells import SLOW

Cells = list[list[str]]  # kind and source of each

PICKED = "what it needs"
AT_ITS_CHECK = "all cells up to its check"
WHOLE = "the whole notebook"
OF_A_TRIAL = re.compile(r"\s*(#|import\s|from\s|$)")  # lines in which two readings may differ and be the same


@dataclass(frozen=True)
class Reading:
    """Cells for an answer to run on.

    Attributes:
        way: which of the three it is.
        clock: processor time of a cell, and of all cells together.
    """

    way: str
    cells: Cells
    clock: tuple[float, float]

    def without_slow(self, told: str) -> Reading:
        """The same, but each of these cells ends where it took too long; they are told as "CELL:LINE"."""
        lines = dict(each.split(":") for each in told.split())
        cells = [
            [f"{kind.partition(SLOW)[0]}{SLOW}{lines[str(number)]}" if str(number) in lines else kind, source]
            for number, (kind, source) in enumerate(self.cells, 1)
        ]
        return replace(self, cells=cells)


def readings(exercise: Exercise, cells: Cells, pick: Callable[[Cells], Cells]) -> Iterator[Reading]:
    """The readings of these cells for an answer to this exercise, those that are the same as another left out.

    Args:
        pick: the cells with nothing in them but what the function needs.
    """
    given = [["setup", exercise.stand_ins]] * bool(exercise.stand_ins)
    seen = []
    for way in (PICKED, AT_ITS_CHECK, WHOLE):
        if way == PICKED:
            those, clock = pick(cells + given), (float(CASE_S), float(CASE_S))
        else:
            last = _last_of(exercise, cells) if way == AT_ITS_CHECK else len(cells)
            those = [[kind, source * (number < last)] for number, (kind, source) in enumerate(cells)] + given
            clock = (1.0, 4.0)
        text = [line for _, source in those for line in source.split("\n") if not OF_A_TRIAL.match(line)]
        if text not in seen:
            seen.append(text)
            yield Reading(way, those, clock)


def _last_of(exercise: Exercise, cells: Cells) -> int:
    """The number of the last cell that checks this exercise, or else defines its function; of all if none does."""
    checks = re.compile(rf"\bcheck\s*\(\s*(exercise\s*=\s*)?[\"']{exercise.id}[\"']")
    checked = [number for number, (_, source) in enumerate(cells, 1) if checks.search(source)]
    defined = [number for number, (kind, _) in enumerate(cells, 1) if kind == "answer"]
    return (checked or defined or [len(cells)])[-1]
