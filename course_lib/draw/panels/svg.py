"""Drawings as SVG: text, a hundred times faster than an image, and in the colors of the page's theme."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from course_lib.draw.panels.drawing import FAINT, INK, PAPER, QUIET, Boxes, Curve, Drawing, Key, Ring, Shape, Words
from course_lib.draw.panels.letters import FONT_PX, FREE_PX

__all__ = ["THEME", "drawing_svg", "legend_html", "room_css"]

# The page's own colors, with what stands for them outside JupyterLab.
THEME = {
    INK: "var(--jp-content-font-color1,#1f1f1f)",
    FAINT: "var(--jp-content-font-color2,#5a5a5a)",
    PAPER: "var(--jp-layout-color0,#ffffff)",
    QUIET: "rgba(128,128,128,0.36)",
}
_WIDE = 1000  # of the sheet that is stretched to the room there is
_ROOMS_PX = (*range(100, 640, 20), 700, 800, 1000, 1200, 1600)
_ROOM = "explorer-drawing"


def drawing_svg(drawing: Drawing, label: str) -> str:
    """An inline picture; `label` says in words what it shows, and is what those hear who do not see it."""
    stretched = "".join(_stretched(shape) for shape in drawing.shapes)
    fixed = "".join(_fixed(shape) for shape in drawing.shapes)
    high = f'height="{drawing.height_px:g}"'
    look = f"display:block;overflow:visible;font:{FONT_PX:g}px var(--jp-ui-font-family,sans-serif)"
    sheet = f'viewBox="0 0 {_WIDE} {drawing.height_px:g}" preserveAspectRatio="none" width="100%" {high}'
    return (
        f'<div style="margin:0 {FREE_PX:g}px 0 {drawing.left_px:.0f}px;container:{_ROOM} / inline-size">'
        f'<svg role="img" aria-label="{escape(label)}" width="100%" {high} style="{look}">'
        f'<g aria-hidden="true"><svg {sheet} style="overflow:visible">{stretched}</svg>{fixed}</g></svg></div>'
    )


def room_css() -> str:
    """Rules that hide the words which a drawing has no room for; its room is the page's to say."""
    return "".join(f"@container {_ROOM} (max-width:{px - 1}px){{.{_ROOM}-{px}{{display:none}}}}" for px in _ROOMS_PX)


def legend_html(keys: Iterable[Key]) -> str:
    """What colors mean, above a picture; nothing where there is nothing to tell apart."""
    entries = []
    for text, color, dash in keys:
        shape = _path("M7 1h10v10h-10z", color, f"stroke:{THEME[FAINT]}") if dash is None else _line(dash, color)
        swatch = f'<svg aria-hidden="true" width="24" height="12" style="vertical-align:-1px">{shape}</svg>'
        entries.append(f'<span style="display:inline-block;margin-right:1em">{swatch} {escape(text)}</span>')
    look = f"font-size:{FONT_PX:g}px;line-height:1.5;color:{THEME[INK]};margin-bottom:4px"
    return f'<div style="{look}">{"".join(entries)}</div>' if entries else ""


def _stretched(shape: Shape) -> str:
    """What fills the room across."""
    if isinstance(shape, Boxes) and shape.where:
        path = "".join(f"M{1000 * x:.1f} {y:.1f}h{1000 * w:.1f}v{h:.1f}h{-1000 * w:.1f}z" for x, y, w, h in shape.where)
        more = f"stroke:{_color(shape.edge)};stroke-width:{shape.edge_px:g}"
        return _path(path, shape.color, more + (f";opacity:{shape.opacity:g}" if shape.opacity < 1 else ""))
    if isinstance(shape, Curve) and shape.points:
        path = "M" + "L".join(f"{1000 * x:.1f} {y:.1f}" for x, y in shape.points)
        dash = f";stroke-dasharray:{' '.join(f'{part:g}' for part in shape.dash)}" if shape.dash else ""
        return _path(path, "none", f"stroke:{_color(shape.color)};stroke-width:{shape.width_px:g}{dash}")
    return ""


def _fixed(shape: Shape) -> str:
    """What keeps its size."""
    if isinstance(shape, Words) and shape.text:
        place = f'x="{100 * shape.x:.2f}%" y="{shape.y:.1f}" dx="{shape.dx_px:g}" text-anchor="{shape.anchor}"'
        look = f"fill:{_color(shape.color)}" + ";font-weight:600" * shape.bold
        if shape.from_px:
            place += f' class="{_ROOM}-{next((px for px in _ROOMS_PX if px >= shape.from_px), "never")}"'
        return f'<text {place} dominant-baseline="central" style="{look}">{escape(shape.text)}</text>'
    if isinstance(shape, Ring):
        place = f'cx="{100 * shape.x:.2f}%" cy="{shape.y:.1f}" r="{shape.radius_px:g}"'
        return "".join(f'<circle {place} style="fill:none;stroke:{c};stroke-width:{w:g}"/>' for w, c in shape.looks)
    return ""


def _path(path: str, fill: str, more: str) -> str:
    return f'<path d="{path}" style="fill:{_color(fill)};{more};vector-effect:non-scaling-stroke"/>'


def _line(dash: tuple[float, ...], color: str) -> str:
    parts = ";stroke-dasharray:" + " ".join(f"{part:g}" for part in dash) if dash else ""
    return _path("M0 6L24 6", "none", f"stroke:{_color(color)};stroke-width:2{parts}")


def _color(color: str) -> str:
    return THEME.get(color, color)
