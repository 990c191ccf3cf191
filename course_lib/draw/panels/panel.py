"""What all panels have, and the table, which is no drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.draw.panels.drawing import Drawing
from course_lib.draw.panels.letters import NARROW_PX

__all__ = ["Panel", "Table"]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A picture, or one of several that stand together.

    Attributes:
        title: stands above it.
        origin: where its numbers are from: measured, emulated, simulated, computed or published.
        label: what it shows, in words.
        wide: as wide as the page, not half of it.
    """

    title: str
    origin: str
    label: str = ""
    wide: bool = False

    def drawing(self, wide: float = NARROW_PX) -> Drawing:
        """Its shapes, for a panel that is at least so many pixels wide."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What it shows, in words."""
        return self.label or self.title


@dataclass(frozen=True)
class Table:
    """Facts in a row, each under its name; the origin is that of all that do not name theirs."""

    facts: Mapping[str, str]
    origin: str

    @property
    def words(self) -> str:
        """The facts as a sentence."""
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())
