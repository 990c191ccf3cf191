"""The colors of the course, and black or white on top of them.

The colors are those of Okabe and Ito, which readers with any color vision tell apart.

Source: M. Okabe and K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

import itertools

__all__ = ["CARD", "COLORS", "GRID", "INK", "MUTED", "RANK_COLORS", "fraction_color", "ink_on", "luminance"]

CARD = "#ffffff"
INK = "#1f1f1f"
MUTED = "#5a5a5a"
GRID = "#d6d6d6"
COLORS = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "purple": "#cc79a7",
}
RANK_COLORS = (COLORS["sky"], COLORS["orange"], COLORS["green"], COLORS["purple"])


def fraction_color(fraction: float) -> str:
    """A blue between almost white (0) and dark (1): the share of a whole that is there already.

    >>> fraction_color(0.0), fraction_color(1.0)
    ('#f4f8fb', '#08416e')
    """
    stops = [
        (0.0, (0xF4, 0xF8, 0xFB)),
        (0.5, (0x7F, 0xB8, 0xDE)),
        (0.95, (0x1B, 0x6F, 0xA8)),
        (1.0, (0x08, 0x41, 0x6E)),
    ]
    fraction = min(max(fraction, 0.0), 1.0)
    for (low, dark), (high, light) in itertools.pairwise(stops):
        if fraction <= high:
            share = (fraction - low) / (high - low)
            return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(dark, light, strict=True))
    raise AssertionError("fractions end at 1")


def ink_on(color: str) -> str:
    """Black or white, whichever reads better on `color` (WCAG 2.2 relative luminance).

    >>> ink_on("#ffffff"), ink_on("#08416e")
    ('#1f1f1f', '#ffffff')
    """
    return INK if luminance(color) > 0.18 else "#ffffff"


def luminance(color: str) -> float:
    """Relative luminance of a #rrggbb color, 0 (black) to 1 (white), as WCAG 2.2 defines it."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
