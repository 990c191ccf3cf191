"""The map of the course: who holds the truth (one place or everyone) against who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.schematics.blocks import block, caption, empty
from course_lib.draw.style import INK, Picture, finish, new_picture, styled

__all__ = ["draw_taxonomy"]

_TIMES = (("synchronous", "all wait for the slowest"), ("asynchronous", "nobody waits, gradients are stale"))
_PLACES = (
    ("decentralized", "everyone has a", "copy of the truth"),
    ("centralized", "a server holds", "the parameters"),
)
_TINTS = {"centralized": "#fbe3c0", "decentralized": "#cfe6f6"}


@styled
def draw_taxonomy(entries: Mapping[tuple[str, str], tuple[str, ...]], *, note: str = "") -> Picture:
    """Two by two: centralized or decentralized, synchronous or asynchronous, each with its methods.

    Args:
        entries: by (place, time), the methods that are there, one line each.
    """
    picture, axes = new_picture(7.4, 3.6)
    empty(axes, 10.6, 6.0)
    for row, place in enumerate(("decentralized", "centralized")):
        for column, time in enumerate(("synchronous", "asynchronous")):
            x, y = 1.6 + 4.5 * column, 0.2 + 2.6 * row
            block(axes, x, y, 4.4, 2.5, _TINTS[place])
            for line, text in enumerate(entries.get((place, time), ())):
                axes.text(x + 2.2, y + 1.75 - 0.55 * line, text, ha="center", va="center", fontsize=9.5, color=INK)
    for column, (time, meaning) in enumerate(_TIMES):
        caption(axes, 3.8 + 4.5 * column, 5.8, time, bold=True)
        caption(axes, 3.8 + 4.5 * column, 5.45, meaning)
    for y, (place, *lines) in zip((1.8, 4.4), _PLACES, strict=True):
        caption(axes, 0.75, y, place, bold=True)
        for line, text in enumerate(lines):
            caption(axes, 0.75, y - 0.36 - 0.33 * line, text)
    parts = [f"{place} and {time}: {', '.join(lines).replace(',,', ',')}" for (place, time), lines in entries.items()]
    return finish(
        picture, origin="schematic", alt="Table of four kinds of training. " + "; ".join(parts) + ".", note=note
    )
