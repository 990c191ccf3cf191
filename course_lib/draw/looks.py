"""One look for one thing, in every figure and explorer: algorithms, policies, passes, what ranks do, parts of memory.

Things of one kind differ in color, and lines in marker and dash too, so that no reader depends on color alone.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from course_lib.draw.colors import COLORS

__all__ = ["FILLS", "LINES", "Fill", "Look", "fill_of", "look_of", "looks_of"]


class Look(NamedTuple):
    """The color, marker and dash of a line."""

    color: str
    marker: str
    dash: Any


class Fill(NamedTuple):
    """The color and hatch of a bar or box."""

    color: str
    hatch: str = ""


LINES: dict[str, dict[str, Look]] = {
    "algorithms": {
        "direct": Look(COLORS["vermillion"], "s", (0, (1, 1.2))),
        "central": Look(COLORS["orange"], "D", (0, (4, 1.5, 1, 1.5))),
        "ring": Look(COLORS["blue"], "o", "solid"),
        "tree": Look(COLORS["green"], "^", (0, (5, 1.5))),
        "recursive doubling": Look(COLORS["sky"], "v", (0, (3, 1, 1, 1, 1, 1))),
        "halving-doubling": Look(COLORS["purple"], "P", (0, (7, 2))),
        "hierarchical": Look(COLORS["gray"], "X", (0, (2, 1.5))),
        "pipelined ring": Look("#2f6fa8", "h", (0, (9, 1.5, 2, 1.5))),
        "double tree": Look("#8a6a00", "*", (0, (5, 1.5, 1, 1.5, 1, 1.5))),
    },
    "policies": {
        "synchronous": Look(COLORS["blue"], "o", "solid"),
        "backup workers": Look(COLORS["sky"], "v", (0, (4, 1.5, 1, 1.5))),
        "softsync": Look(COLORS["green"], "^", (0, (5, 1.5))),
        "bounded": Look(COLORS["orange"], "D", (0, (7, 2))),
        "asynchronous": Look(COLORS["vermillion"], "s", (0, (1, 1.2))),
    },
    "schedules": {
        "one at a time": Look(COLORS["vermillion"], "s", (0, (1, 1.2))),
        "GPipe": Look(COLORS["orange"], "D", (0, (4, 1.5, 1, 1.5))),
        "1F1B": Look(COLORS["blue"], "o", "solid"),
        "interleaved": Look(COLORS["sky"], "v", (0, (3, 1, 1, 1, 1, 1))),
        "breadth-first": Look("#8a5ccf", "p", (0, (3, 1.2))),
        "ZB-H1": Look(COLORS["green"], "^", (0, (5, 1.5))),
        "ZB-H2": Look(COLORS["purple"], "P", (0, (7, 2))),
        "V-Min": Look(COLORS["gray"], "X", (0, (2, 1.5))),
        "V-Half": Look("#2f6fa8", "h", (0, (9, 1.5, 2, 1.5))),
        "ZB-V": Look("#8a6a00", "*", (0, (5, 1.5, 1, 1.5, 1, 1.5))),
        "DualPipeV": Look("#b8487f", "d", (0, (9, 1.5))),
    },
    "formats": {
        "whole": Look(COLORS["gray"], "X", (0, (2, 1.5))),
        "two thin matrices": Look(COLORS["orange"], "D", (0, (4, 1.5, 1, 1.5))),
        "Tucker": Look(COLORS["vermillion"], "s", (0, (1, 1.2))),
        "tensor train": Look(COLORS["blue"], "o", "solid"),
    },
    "strategies": {
        "keep everything": Look(COLORS["gray"], "X", (0, (2, 1.5))),
        "keep nothing": Look(COLORS["vermillion"], "s", (0, (1, 1.2))),
        "segments": Look(COLORS["orange"], "D", (0, (4, 1.5, 1, 1.5))),
        "halving": Look(COLORS["green"], "^", (0, (5, 1.5))),
        "Revolve": Look(COLORS["sky"], "v", (0, (3, 1, 1, 1, 1, 1))),
        "optimum": Look(COLORS["blue"], "o", "solid"),
    },
    "ways to step": {
        "overlapped": Look(COLORS["blue"], "o", "solid"),
        "after the backward pass": Look(COLORS["orange"], "D", (0, (5, 1.5))),
    },
}
# Policies bear numbers in their names; a number decides no look.
_POLICIES = {
    r"synchronous, \d+ backups?|with backup workers": "backup workers",
    r"(?:\d+|n)-softsync": "softsync",
    r"bounded delay|stale-synchronous": "bounded",
    r"asynchronous": "asynchronous",
    r"synchronous": "synchronous",
}
_POLICY = re.compile("|".join(f"(?P<p{i}>{pattern})" for i, pattern in enumerate(_POLICIES)))
_AFTER_A_POLICY = re.compile(r"(, (slack|bound) \d+)?(, all equal|, one slow)?")

FILLS: dict[str, dict[str, Fill]] = {
    "passes": {
        "forward": Fill(COLORS["sky"]),
        "backward": Fill(COLORS["green"]),
        "weight gradients": Fill(COLORS["orange"]),
        "update": Fill(COLORS["purple"]),
        "all-reduce": Fill(COLORS["blue"]),
        "all-reduce, waited for": Fill(COLORS["vermillion"]),
    },
    "plans": {
        "held": Fill(COLORS["gray"]),
        "stored": Fill(COLORS["sky"]),
        "run": Fill(COLORS["blue"]),
        "recomputed": Fill(COLORS["vermillion"]),
        "back": Fill(COLORS["green"]),
    },
    "what ranks do": {
        "send": Fill(COLORS["blue"]),
        "receive": Fill(COLORS["orange"]),
        "work": Fill(COLORS["green"]),
        "wait": Fill(COLORS["gray"]),
    },
    "memory": {
        "parameters": Fill(COLORS["blue"]),
        "gradients": Fill(COLORS["orange"], "///"),
        "fp32 copy": Fill(COLORS["sky"], "..."),
        "Adam's mean": Fill(COLORS["green"], ""),
        "Adam's square": Fill(COLORS["purple"], "xx"),
        "Adam's two numbers": Fill(COLORS["green"], "\\\\"),
        "optimizer states": Fill(COLORS["green"], "xx"),
        "activations": Fill(COLORS["vermillion"], ".."),
    },
    "a GPU's memory": {
        "states": Fill(COLORS["blue"]),
        "logits": Fill(COLORS["green"]),
    },
}
# Names that the course does not know get none of these, so that no known color changes its meaning.
_COLORS = (COLORS["plum"], "#a6611a", "#018571", "#d0306f", "#667f1a", "#3f73c0", "#9a6a30", "#6e6e6e")
_MARKERS, _HATCHES = "pdH<>8", ("", "///", "...", "xx", "\\\\")
_DASHES = ("solid", (0, (6, 1.2)), (0, (3, 1.2)), (0, (8, 1.5, 1, 1.5)), (0, (1, 2)))


def look_of(name: str) -> Look:
    """The look of a line; a name that the course does not know gets one that depends on the name alone.

    >>> look_of("ring").marker, look_of("4-softsync") == look_of("n-softsync")
    ('o', True)
    """
    known = _known(name)
    if known is not None:
        return known
    number = zlib.crc32(name.encode())
    return _other(number % len(_COLORS), number // len(_COLORS))


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name: the course's own for those that it knows, others, in order, for the rest.

    >>> looks_of(["ring", "NVLink", "Ethernet"])["ring"] == look_of("ring")
    True
    """
    number = itertools.count()
    return {name: _known(name) or _other(place := next(number), place) for name in dict.fromkeys(names)}


def fill_of(name: str, number: int = 0) -> Fill:
    """The fill of a part by its name; a name that the course does not know gets that of its number.

    >>> fill_of("forward").color == COLORS["sky"]
    True
    """
    for fills in FILLS.values():
        if name in fills:
            return fills[name]
    return Fill(_COLORS[number % len(_COLORS)], _HATCHES[number % len(_HATCHES)])


def _known(name: str) -> Look | None:
    """A name's own look; a bound has the color of what it bounds, dotted."""
    if name.startswith("bound, ") and (bounded := _known(name.removeprefix("bound, "))):
        return bounded._replace(dash=(0, (1, 2)), marker="")
    for looks in LINES.values():
        if name in looks:
            return looks[name]
    found = _POLICY.match(name)
    if found is None or not _AFTER_A_POLICY.fullmatch(name, found.end()):
        return None
    assert found.lastgroup is not None
    return LINES["policies"][list(_POLICIES.values())[int(found.lastgroup[1:])]]


def _other(number: int, second: int) -> Look:
    return Look(_COLORS[number % len(_COLORS)], _MARKERS[second % len(_MARKERS)], _DASHES[second % len(_DASHES)])
