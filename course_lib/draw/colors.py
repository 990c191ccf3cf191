"""The colors of the course, and one look for each thing: algorithms, policies, passes, what ranks do, parts of memory.

Colors are of middle lightness: each has a contrast of at least 3 : 1 to a light page and to a dark one, whether the
page inverts a picture or shows the color itself. Inverted, each stays nearer to itself than to any other, and readers
with any color vision tell them apart. A test computes all that (tests/draw/test_seen.py).

A look is a color with a marker and a dash (lines) or a hatch (bars), so that no reader depends on color alone.

Source: W3C, "Web Content Accessibility Guidelines 2.2", 2023, 1.4.11 (contrast of what is not text);
G. Machado, M. Oliveira and L. Fernandes, "A physiologically-based model for simulation of color vision deficiency",
IEEE Transactions on Visualization and Computer Graphics 15(6), 2009.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

CARD = "#ffffff"
INK = "#1f1f1f"
MUTED = "#5a5a5a"
GRID = "#d6d6d6"
COLORS = {
    "gray": "#757575",
    "orange": "#b25a08",
    "sky": "#3282c8",
    "green": "#00823c",
    "blue": "#6e5ae6",
    "vermillion": "#e61e50",
    "purple": "#be14a0",
    "plum": "#995588",
}
# What lies behind things, or says that nothing is there: pale, so that it does not look like one of them.
GROUNDS = {"nothing": "#f0f0f0", "red": "#fdd3db", "orange": "#f0e1cc", "blue": "#e4e0fa"}
RANK_COLORS = (COLORS["sky"], COLORS["orange"], COLORS["green"], COLORS["purple"])


def fraction_color(fraction: float) -> str:
    """A blue between almost white (0) and dark (1): the share of a whole that is there already.

    There is nothing between light and dark, where neither black nor white would read; 95% are nearly all, and dark.

    >>> fraction_color(0.0), fraction_color(1.0)
    ('#f4f8fb', '#08416e')
    """
    stops = [
        (0.0, (0xF4, 0xF8, 0xFB)),
        (0.95, (0x7F, 0xB8, 0xDE)),
        (0.95, (0x1B, 0x6F, 0xA8)),
        (1.0, (0x08, 0x41, 0x6E)),
    ]
    fraction = min(max(fraction, 0.0), 1.0)
    for (low, dark), (high, light) in itertools.pairwise(stops):
        if fraction <= high:
            share = (fraction - low) / (high - low) if high > low else 0.0
            return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(dark, light, strict=True))
    raise AssertionError("fractions end at 1")


def ink_on(color: str) -> str:
    """White on all colors of the course, nearly black on what is paler (WCAG 2.2 relative luminance).

    White, a dark page makes it black, on a fill that has become lighter; so it reads well on both.

    >>> ink_on("#ffffff"), ink_on("#08416e"), ink_on(COLORS["sky"])
    ('#1f1f1f', '#ffffff', '#ffffff')
    """
    return INK if luminance(color) > 0.22 else "#ffffff"


def luminance(color: str) -> float:
    """Relative luminance of a #rrggbb color, 0 (black) to 1 (white), as WCAG 2.2 defines it."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
        "train, converted": Look(COLORS["green"], "^", (0, (5, 1.5))),
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
