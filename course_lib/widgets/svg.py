"""Vector pictures as text: a hundred times faster than a drawing library, and in the colors of the page's theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape

__all__ = ["FAINT", "INK", "boxes", "curve", "figure_html", "numbers_html", "ring", "round_step", "svg", "words"]

# The page's own text colors, with what stands for them outside JupyterLab.
INK = "var(--jp-content-font-color1,#1f1f1f)"
FAINT = "var(--jp-content-font-color2,#5a5a5a)"

Box = tuple[float, float, float, float]  # x, y, width, height


def svg(width: float, height: float, body: Iterable[str], label: str) -> str:
    """An inline picture; `label` says in words what it shows."""
    style = "max-width:100%;height:auto;font:12px var(--jp-ui-font-family,sans-serif)"
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg role="img" aria-label="{escape(label)}" {size} style="{style}">{"".join(body)}</svg>'


def boxes(where: Iterable[Box], fill: str, edge: str = "none", more: str = "") -> str:
    """Any number of boxes of one color as one path; nothing if there is no box."""
    path = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z" for x, y, w, h in where)
    return f'<path d="{path}" style="fill:{fill};stroke:{edge};{more}"/>' if path else ""


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


def words(x: float, y: float, text: str, *, anchor: str = "middle", color: str = INK, more: str = "") -> str:
    """A piece of text whose middle line lies at y."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text {place} style="fill:{color};{more}">{escape(text)}</text>'


def figure_html(title: str, picture: str, origin: str) -> str:
    """A picture under its title, which names the origin of its numbers."""
    label = f'<small style="color:{FAINT};font-weight:normal"> {escape(origin)}</small>' if origin else ""
    heading = f'<figcaption style="font-weight:600;margin:0 0 4px;color:{INK}">{escape(title)}{label}</figcaption>'
    return f'<figure style="margin:0 20px 10px 0">{heading}{picture}</figure>'


def numbers_html(facts: Mapping[str, str]) -> str:
    """Facts in a row, each under its name."""
    cells = "".join(
        f'<div style="margin:0 1.6em 0.3em 0"><div style="color:{FAINT};font-size:90%">{escape(name)}</div>'
        f'<div style="font-weight:600">{escape(value)}</div></div>'
        for name, value in facts.items()
    )
    return f'<div style="display:flex;flex-wrap:wrap;line-height:1.4;margin:4px 0">{cells}</div>'


def round_step(rough: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above `rough`; 0 if `rough` is not positive.

    >>> round_step(37)
    20.0
    """
    if rough <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(rough))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= rough * (1 + 1e-9))
