"""Names of checkpoints' files: which start of a training wrote them, at which step, and as which of how many ranks.

life-1-3fa9c1.step-50.rank-0-of-2      life-2-07be44.step-50.rank-0-of-2     (died while it wrote step 60)
life-1-3fa9c1.step-50.rank-1-of-2      life-2-07be44.step-50.rank-1-of-2
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

__all__ = ["Life", "Saved", "draw", "found_in", "next_life"]

_NAME = re.compile(r"life-(\d+)-([0-9a-f]{6})\.step-(\d+)\.rank-(\d+)-of-(\d+)$")
_MANY = 2**24  # as many numbers as have six hexadecimal digits


class Life(NamedTuple):
    """One start of a training: later ones have a greater number; two that start at once differ in what was drawn."""

    number: int
    drawn: int

    def __str__(self) -> str:
        return f"life-{self.number}-{self.drawn:06x}"


class Saved(NamedTuple):
    """A checkpoint: in order of age, the oldest first."""

    life: Life
    step: int
    ranks: int

    def name(self, rank: int) -> str:
        """The file's name of one rank's part."""
        return f"{self.life}.step-{self.step}.rank-{rank}-of-{self.ranks}"

    def names(self) -> list[str]:
        """Those of all parts."""
        return [self.name(rank) for rank in range(self.ranks)]


def found_in(folder: Path) -> dict[Saved, set[int]]:
    """The ranks of which there is a part, damaged or not, of each checkpoint; the oldest first."""
    found: dict[Saved, set[int]] = {}
    for match in filter(None, map(_NAME.match, os.listdir(folder))):
        life = Life(int(match[1]), int(match[2], 16))
        found.setdefault(Saved(life, int(match[3]), int(match[5])), set()).add(int(match[4]))
    return dict(sorted(found.items()))


def next_life(folder: Path, drawn: int) -> Life:
    """A life that is younger than all that have left something in the folder."""
    return Life(1 + max((saved.life.number for saved in found_in(folder)), default=0), drawn)


def draw() -> int:
    """What tells apart lives that begin at once."""
    return secrets.randbelow(_MANY)
