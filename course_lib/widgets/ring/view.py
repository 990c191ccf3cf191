"""The controls of the ring explorer: how the sequence is cut, over how many ranks, and the step."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.widgets.controls import menu, number, scale
from course_lib.widgets.ring.model import IN_ORDER, RING_RANKS, ZIGZAG, RingSetting
from course_lib.widgets.ring.panels import pictures
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["RingExplorer"]


class RingExplorer(SteppedExplorer):
    """Ring attention under a causal mask, step by step: who computes which scores, who waits, and what travels.

    Args:
        cut, ranks, sequences, hidden, step: where the controls stand at first. `sequences` of 1,024 tokens each.
    """

    moves: ClassVar = {"cut": None, "ranks": [2, 4, 8, 16], "step": None}

    def __init__(
        self, *, cut: str = IN_ORDER, ranks: int = 4, sequences: int = 8, hidden: int = 4096, step: int = 2
    ) -> None:
        super().__init__(
            lambda **values: pictures(RingSetting(**values)),
            cut=menu("cut", [IN_ORDER, ZIGZAG], cut),
            ranks=number("ranks", 1, RING_RANKS, ranks),
            sequences=scale("sequences", [1, 2, 4, 8, 16, 32, 64], sequences),
            hidden=scale("width", [768, 1024, 2048, 4096, 8192], hidden),
            step=step,
        )

    def steps(self, values: dict[str, Any]) -> int:
        """Keys and values visit every rank."""
        return int(values["ranks"])
