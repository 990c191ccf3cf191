"""The controls of the Cannon explorer: the ranks, the matrices, and the step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from course_lib.widgets.cannon.model import CannonSetting
from course_lib.widgets.cannon.panels import pictures
from course_lib.widgets.controls import scale
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["CannonExplorer"]

_RANKS = (1, 2, 3, 4, 6, 8, 9, 16, 32, 64)
_LENGTHS = [2**k for k in range(3, 15)]


class CannonExplorer(SteppedExplorer):
    """C = A B on a square of ranks by Cannon's algorithm, step by step: which blocks meet, and what has been added.

    Args:
        world_size, rows, inner, columns, step: where the controls stand at first. A is [rows, inner], B is
            [inner, columns]; the largest square of the ranks takes part.
    """

    moves: ClassVar = {"world_size": [4, 8, 9, 16, 64], "step": None}

    def __init__(
        self, *, world_size: int = 9, rows: int = 4096, inner: int = 4096, columns: int = 4096, step: int = 0
    ) -> None:
        super().__init__(
            lambda **values: pictures(CannonSetting(**values)),
            world_size=scale("ranks", _RANKS, world_size),
            rows=scale("rows of A", _LENGTHS, rows),
            inner=scale("shared side", _LENGTHS, inner),
            columns=scale("columns of B", _LENGTHS, columns),
            step=step,
        )

    def steps(self, values: dict[str, Any]) -> int:
        """A product for each rank of a row of the square."""
        return math.isqrt(values["world_size"])
