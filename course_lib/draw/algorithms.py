"""One color, marker and dash for each algorithm, in every picture, so that no reader depends on color alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from course_lib.draw.colors import COLORS

__all__ = ["ALGORITHM_STYLES", "AlgorithmStyle", "algorithm_style", "styles_of"]


class AlgorithmStyle(NamedTuple):
    """The color, marker and dash that stand for one algorithm in every picture."""

    color: str
    marker: str
    dash: Any


ALGORITHM_STYLES = {
    "direct": AlgorithmStyle(COLORS["vermillion"], "s", (0, (1, 1.2))),
    "central": AlgorithmStyle(COLORS["orange"], "D", (0, (4, 1.5, 1, 1.5))),
    "ring": AlgorithmStyle(COLORS["blue"], "o", "solid"),
    "tree": AlgorithmStyle(COLORS["green"], "^", (0, (5, 1.5))),
    "recursive doubling": AlgorithmStyle(COLORS["sky"], "v", (0, (3, 1, 1, 1, 1, 1))),
    "halving-doubling": AlgorithmStyle(COLORS["purple"], "P", (0, (7, 2))),
    "hierarchical": AlgorithmStyle("#3a3a3a", "X", (0, (2, 1.5))),
    "pipelined ring": AlgorithmStyle("#004a75", "h", (0, (9, 1.5, 2, 1.5))),
    "double tree": AlgorithmStyle("#7a5c00", "*", (0, (5, 1.5, 1, 1.5, 1, 1.5))),
}


def algorithm_style(name: str) -> AlgorithmStyle:
    """The style of an algorithm; a name that the course does not know gets one that depends on the name alone.

    >>> algorithm_style("ring").marker
    'o'
    """
    if name in ALGORITHM_STYLES:
        return ALGORITHM_STYLES[name]
    known = list(ALGORITHM_STYLES.values())
    number = zlib.crc32(name.encode())
    color = known[number % len(known)].color
    return AlgorithmStyle(color, "phd<>8"[number % 6], known[(number // 7) % len(known)].dash)


def styles_of(names: Iterable[str]) -> dict[str, AlgorithmStyle]:
    """A style for each name: the course's own for algorithms it knows, those left over, in order, for others.

    >>> styles_of(["ring", "NVLink", "Ethernet"])["ring"] == algorithm_style("ring")
    True
    """
    names = list(dict.fromkeys(names))
    left = [style for known, style in ALGORITHM_STYLES.items() if known not in names]
    others = [name for name in names if name not in ALGORITHM_STYLES]
    found = {name: left[number % len(left)] if left else algorithm_style(name) for number, name in enumerate(others)}
    return {name: found.get(name) or ALGORITHM_STYLES[name] for name in names}
