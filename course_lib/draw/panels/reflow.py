"""A figure for narrow pages: its parts under each other as HTML that fills the width there is, words in their size."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from course_lib.draw.panels.drawing import FAINT, INK
from course_lib.draw.panels.panel import Panel, Table
from course_lib.draw.panels.svg import THEME, drawing_svg, legend_html

__all__ = ["narrow_html"]


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
