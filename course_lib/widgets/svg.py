"""Vector pictures as text: a hundred times faster than a drawing library, and in the colors of the page's theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from course_lib.draw.units import time_unit

__all__ = [
    "BOTTOM",
    "FAINT",
    "INK",
    "LEFT",
    "QUIET",
    "RIGHT",
    "TOP",
    "WIDE",
    "Box",
    "axes",
    "boxes",
    "chart",
    "curve",
    "edge_of",
    "ring",
    "round_ticks",
    "svg",
    "time_ticks",
    "wide_timeline",
    "words",
]

# The page's own text colors, with what stands for them outside JupyterLab.
INK = "var(--jp-content-font-color1,#1f1f1f)"
FAINT = "var(--jp-content-font-color2,#5a5a5a)"
PAPER = "var(--jp-layout-color0,#ffffff)"
QUIET = "rgba(128,128,128,0.36)"  # of what does nothing: waits, links without bytes, lines to compare with

LEFT, RIGHT, TOP, BOTTOM = 52.0, 420.0, 26.0, 200.0  # where `chart` has room for curves and bars
WIDE = 1000.0  # how far the shapes of a `wide_timeline` reach
_FONT = "font:12px var(--jp-ui-font-family,sans-serif)"

Box = tuple[float, float, float, float]  # x, y, width, height


def svg(width: float, height: float, body: Iterable[str], label: str) -> str:
    """An inline picture; `label` says in words what it shows."""
    style = f"display:block;width:100%;max-width:{1.15 * width:g}px;{_FONT}"
    size = f'viewBox="0 0 {width:g} {height:g}" style="{style}"'
    return f'<svg role="img" aria-label="{escape(label)}" {size}>{"".join(body)}</svg>'


def wide_timeline(
    names: Sequence[str], high: float, seconds: float, shapes: Iterable[str], texts: Iterable[str], label: str
) -> str:
    """Named rows by time, as wide as their place, with text that keeps its size.

    Args:
        high: of each row; the first begins at 0.
        shapes: their x is 0 to WIDE; that of `texts` is a share ("12%").
    """
    bottom, (ticks, unit) = len(names) * high, time_ticks(seconds, 6)
    stretched = f'viewBox="0 0 {WIDE:g} {bottom:g}" preserveAspectRatio="none" width="100%" height="{bottom:g}"'
    texts = [*texts, words("50%", bottom + 29, f"time in {unit}", color=FAINT)]
    texts += [words(f"{100 * tick / seconds:.2f}%", bottom + 12, text, color=FAINT) for tick, text in ticks.items()]
    left = [words(62, (row + 0.5) * high, name, anchor="end") for row, name in enumerate(names)]
    size = f'height="{bottom + 36:g}" style="flex:1;min-width:0;overflow:visible;{_FONT}"'
    return (
        f'<div style="display:flex;margin-right:14px"><svg aria-hidden="true" width="70" height="{bottom:g}" '
        f'style="flex:none;{_FONT}">{"".join(left)}</svg><svg role="img" aria-label="{escape(label)}" {size}>'
        f"<svg {stretched}>{''.join(shapes)}</svg>{''.join(texts)}</svg></div>"
    )


def boxes(where: Iterable[Box], fill: str, edge: str = "none", more: str = "") -> str:
    """Any number of boxes of one color as one path; nothing if there is no box."""
    path = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z" for x, y, w, h in where)
    return f'<path d="{path}" style="fill:{fill};stroke:{edge};vector-effect:non-scaling-stroke;{more}"/>' * bool(path)


def edge_of(count: int) -> str:
    """The line around each of `count` boxes: the color of the page, or none where boxes are thinner than a line."""
    return PAPER if count < 800 else "none"


def curve(points: Iterable[tuple[float, float]], color: str, dash: str = "", width: float = 2) -> str:
    """A line through points; `dash` as in SVG's stroke-dasharray."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    look = f"fill:none;stroke:{color};stroke-width:{width:g};stroke-dasharray:{dash or 'none'}"
    return f'<path d="M{path}" style="{look}"/>' if path else ""


def ring(x: float, y: float) -> str:
    """A ring around a point, to be seen on any color."""
    looks = ((6, "#ffffff"), (2.5, "#1f1f1f"))
    circles = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" style="fill:none;stroke:{c};stroke-width:{w}"/>' for w, c in looks
    )
    return "".join(circles)


def words(x: float | str, y: float, text: str, *, anchor: str = "middle", color: str = INK, more: str = "") -> str:
    """A piece of text whose middle line lies at y; `x` may be a share of the width ("12%")."""
    across = x if isinstance(x, str) else f"{x:.1f}"
    place = f'x="{across}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text {place} style="fill:{color};{more}">{escape(text)}</text>'


def axes(box: Box, x_ticks: Mapping[float, str], x_name: str, y_ticks: Mapping[float, str], y_name: str) -> list[str]:
    """Lines at the left and at the bottom of a box (x, y, width, height), ticks by their place, and the axes' names."""
    x, y, width, height = box
    bottom = y + height
    body = [curve([(x, y), (x, bottom), (x + width, bottom)], FAINT, width=1)]
    body += [curve([(place, bottom), (place, bottom + 4)], FAINT, width=1) for place in x_ticks]
    body += [words(place, bottom + 13, text, color=FAINT) for place, text in x_ticks.items()]
    body += [words(x - 6, place, text, anchor="end", color=FAINT) for place, text in y_ticks.items()]
    body.append(words(x + width / 2, bottom + 29, x_name, color=FAINT))
    body.append(words(0, y - 16, y_name, anchor="start", color=FAINT))
    return body


def chart(
    body: Iterable[str],
    x_ticks: Mapping[float, str],
    x_name: str,
    y_ticks: Mapping[float, str],
    y_name: str,
    label: str,
) -> str:
    """Curves or bars, drawn from LEFT to RIGHT and from TOP to BOTTOM, on axes."""
    frame = axes((LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP), x_ticks, x_name, y_ticks, y_name)
    return svg(RIGHT + 14, BOTTOM + 36, [*frame, *body], label)


def round_ticks(end: float, most: int) -> list[float]:
    """Multiples of 1, 2, 5, 10, 20, ... from 0 to `end`, at most `most` of them above 0.

    >>> round_ticks(187, 4)
    [0.0, 50.0, 100.0, 150.0]
    """
    if end <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(end / most))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if end <= (most + 1) * factor * power * (1 - 1e-9))
    return [i * step for i in range(int(end / step * (1 + 1e-9)) + 1)]


def time_ticks(seconds: float, most: int = 5) -> tuple[dict[float, str], str]:
    """Round times up to `seconds` with their texts, and the unit of these."""
    unit_s, unit = time_unit(seconds or 1)
    return {tick * unit_s: f"{tick:g}" for tick in round_ticks(seconds / unit_s, most)}, unit
