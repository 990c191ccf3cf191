"""Drawings as inline SVG in the colors of the page's theme, and whole figures as HTML for narrow pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape

from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D

from course_lib.draw.colors import COLORS
from course_lib.draw.panels.drawing import (
    FAINT,
    FONT_PX,
    FREE_PX,
    INK,
    LINED,
    PAPER,
    QUIET,
    SAMPLE_PX,
    Boxes,
    Drawing,
    Key,
    Marks,
    Polyline,
    Ring,
    Shape,
    Text,
)
from course_lib.draw.panels.panel import Panel, Table

# The page's own colors, with what stands for them outside JupyterLab.
THEME = {
    INK: "var(--jp-content-font-color1,#1f1f1f)",
    FAINT: "var(--jp-content-font-color2,#5a5a5a)",
    PAPER: "var(--jp-layout-color0,#ffffff)",
    QUIET: COLORS["gray"],
    LINED: "rgba(128,128,128,0.36)",
}
_SHEET_WIDTH = 1000  # of the sheet that is stretched to the room there is
_ROOMS_PX = (*range(100, 640, 20), 700, 800, 1000, 1200, 1600)
_ROOM = "explorer-drawing"


def drawing_svg(drawing: Drawing, label: str) -> str:
    """A drawing as inline SVG; `label` says in words what it shows, for screen readers."""
    stretched = "".join(_stretched(shape) for shape in drawing.shapes)
    fixed = "".join(_fixed(shape) for shape in drawing.shapes)
    height = f'height="{drawing.height_px:g}"'
    look = f"display:block;overflow:visible;font:{FONT_PX:g}px var(--jp-ui-font-family,sans-serif)"
    sheet = f'viewBox="0 0 {_SHEET_WIDTH} {drawing.height_px:g}" preserveAspectRatio="none" width="100%" {height}'
    return (
        f'<div style="margin:0 {FREE_PX:g}px 0 {drawing.left_px:.0f}px;container:{_ROOM} / inline-size">'
        f'<svg role="img" aria-label="{escape(label)}" width="100%" {height} style="{look}">'
        f'<g aria-hidden="true"><svg {sheet} style="overflow:visible">{stretched}</svg>{fixed}</g></svg></div>'
    )


def room_css() -> str:
    """CSS that hides text for which a drawing has no room, whatever width the page gives it (container queries)."""
    return "".join(f"@container {_ROOM} (max-width:{px - 1}px){{.{_ROOM}-{px}{{display:none}}}}" for px in _ROOMS_PX)


def legend_html(keys: Iterable[Key]) -> str:
    """A legend as HTML, to stand above a drawing; empty where there is nothing to tell apart."""
    entries = []
    width, height = SAMPLE_PX
    for key in keys:
        shapes = "".join(_stretched(shape, width) + _fixed(shape) for shape in key.sample())
        swatch = (
            f'<svg aria-hidden="true" width="{width:g}" height="{height:g}" style="vertical-align:-1px">{shapes}</svg>'
        )
        entries.append(f'<span style="display:inline-block;margin-right:1em">{swatch} {escape(key.text)}</span>')
    look = f"font-size:{FONT_PX:g}px;line-height:1.5;color:{THEME[INK]};margin-bottom:4px"
    return f'<div style="{look}">{"".join(entries)}</div>' if entries else ""


def _stretched(shape: Shape, width: float = _SHEET_WIDTH) -> str:
    """What fills the room across, `width` on its sheet."""
    if isinstance(shape, Boxes) and shape.where:
        boxes = ((width * x, y, width * w, h) for x, y, w, h in shape.where)
        path = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z" for x, y, w, h in boxes)
        more = f"stroke:{_color(shape.edge)};stroke-width:{shape.edge_px:g}"
        return _path(path, shape.color, more + _opacity(shape.opacity))
    if isinstance(shape, Polyline) and shape.points:
        path = "M" + "L".join(f"{width * x:.1f} {y:.1f}" for x, y in shape.points)
        dash = f";stroke-dasharray:{' '.join(f'{part:g}' for part in shape.dash)}" if shape.dash else ""
        more = f"stroke:{_color(shape.color)};stroke-width:{shape.width_px:g}{dash}"
        return _path(path, "none", more + _opacity(shape.opacity))
    return ""


def _fixed(shape: Shape) -> str:
    """What keeps its size; words that no screen has room for are left out."""
    if isinstance(shape, Text) and shape.text and shape.from_px <= _ROOMS_PX[-1]:
        place = f'x="{100 * shape.x:.2f}%" y="{shape.y:.1f}" dx="{shape.dx_px:g}" text-anchor="{shape.anchor}"'
        look = f"fill:{_color(shape.color)}" + (";font-weight:600" if shape.bold else "")
        if shape.from_px:
            place += f' class="{_ROOM}-{next(px for px in _ROOMS_PX if px >= shape.from_px)}"'
        return f'<text {place} dominant-baseline="central" style="{look}">{escape(shape.text)}</text>'
    if isinstance(shape, Ring):
        place = f'cx="{100 * shape.x:.2f}%" cy="{shape.y:.1f}" r="{shape.radius_px:g}"'
        return "".join(f'<circle {place} style="fill:none;stroke:{c};stroke-width:{w:g}"/>' for w, c in shape.looks)
    if isinstance(shape, Marks):
        lined = shape.open or not MarkerStyle(shape.symbol).is_filled()
        stroke = f"stroke:{_color(shape.color)};stroke-width:{2 if lined else 1}"
        fill = PAPER if shape.open else "none" if lined else shape.color
        symbol = _path(_symbol(shape.symbol, shape.size_px), fill, stroke)
        places = (f'x="{100 * x:.2f}%" y="{y:.1f}"' for x, y in shape.points)
        return "".join(f'<svg {place} style="overflow:visible">{symbol}</svg>' for place in places)
    return ""


@cache
def _symbol(symbol: str, size_px: float) -> str:
    """The path of a symbol around 0, 0; y points down here and upward in matplotlib."""
    style = MarkerStyle(symbol)
    path = style.get_path().transformed(style.get_transform() + Affine2D().scale(size_px, -size_px))
    letters = {path.MOVETO: "M", path.LINETO: "L", path.CURVE3: "Q", path.CURVE4: "C", path.CLOSEPOLY: "z"}
    parts = ((letters[code], [] if code == path.CLOSEPOLY else values) for values, code in path.iter_segments())
    return "".join(letter + " ".join(f"{value:.2f}" for value in values) for letter, values in parts)


def _path(path: str, fill: str, more: str) -> str:
    return f'<path d="{path}" style="fill:{_color(fill)};{more};vector-effect:non-scaling-stroke"/>'


def _opacity(share: float) -> str:
    return f";opacity:{share:g}" if share < 1 else ""


def _color(color: str) -> str:
    return THEME.get(color, color)


def narrow_html(parts: Sequence[Panel | Table], *, title: str = "", note: str = "", shared: bool = False) -> str:
    """Title, legend, parts, and below them the note and the origin of the numbers.

    Args:
        shared: one legend for all parts, below the title.
    """
    drawings = [part.drawing() for part in parts if isinstance(part, Panel)]
    keys = dict.fromkeys(key for drawing in drawings for key in drawing.legend)
    origins = dict.fromkeys(word for part in parts for word in part.origin.split(", "))
    below = " · ".join(filter(None, [note, ", ".join(origins)]))
    inside = [_part(part, shared) for part in parts]
    return "".join([_line(title, bold=True), legend_html(keys) if shared else "", *inside, _line(below, color=FAINT)])


def _part(part: Panel | Table, shared: bool) -> str:
    if isinstance(part, Table):
        facts = "".join(f"<div>{escape(name)} <b>{escape(value)}</b></div>" for name, value in part.facts.items())
        return f'<div style="color:{THEME[INK]};margin-bottom:0.6em">{facts}</div>'
    drawing = part.drawing()
    legend = "" if shared else legend_html(drawing.legend)
    return (
        f'<div style="margin-bottom:1em">{_line(part.title, bold=True)}{legend}{drawing_svg(drawing, part.words)}</div>'
    )


def _line(text: str, *, bold: bool = False, color: str = INK) -> str:
    look = f"color:{THEME[color]};line-height:1.4;margin-bottom:4px" + (";font-weight:600" if bold else "")
    return f'<div style="{look}">{escape(text)}</div>' if text else ""
