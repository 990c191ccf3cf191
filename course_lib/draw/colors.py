"""The colors of the course, what a dark page makes of them, and black or white on top of them.

All are of middle lightness: each has a contrast of at least 3 : 1 to a light page and to a dark one, whether the page
inverts a picture or shows the color itself. Inverted, each stays nearer to itself than to any other, and readers with
any color vision tell them apart. A test computes all that (tests/draw/test_contrast.py).

Source: W3C, "Web Content Accessibility Guidelines 2.2", 2023, 1.4.11 (contrast of what is not text);
G. Machado, M. Oliveira and L. Fernandes, "A physiologically-based model for simulation of color vision deficiency",
IEEE Transactions on Visualization and Computer Graphics 15(6), 2009.
"""

from __future__ import annotations

import itertools

__all__ = ["CARD", "COLORS", "GRID", "GROUNDS", "INK", "MUTED", "RANK_COLORS", "fraction_color", "ink_on", "luminance"]

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
