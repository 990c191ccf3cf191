"""Vector pictures as text: a hundred times faster than a drawing library, and in the colors of the page's theme."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["FAINT", "INK", "boxes", "figure_html", "svg", "words"]

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


def words(x: float, y: float, text: str, *, anchor: str = "middle", color: str = INK, more: str = "") -> str:
    """A piece of text whose middle line lies at y."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text {place} style="fill:{color};{more}">{escape(text)}</text>'


def figure_html(title: str, picture: str, origin: str) -> str:
    """A picture under its title, which names the origin of its numbers."""
    label = f'<small style="color:{FAINT};font-weight:normal"> {escape(origin)}</small>' if origin else ""
    heading = f'<figcaption style="font-weight:600;margin:0 0 4px;color:{INK}">{escape(title)}{label}</figcaption>'
    return f'<figure style="margin:0 20px 10px 0">{heading}{picture}</figure>'
