"""The pieces of a page around drawings: titles, facts, captions, errors, and how explorers are laid out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

from course_lib.draw.panels.drawing import FAINT as FAINT_NAME
from course_lib.draw.panels.drawing import INK as INK_NAME
from course_lib.draw.panels.panel import Panel, Table
from course_lib.draw.panels.svg import THEME, drawing_svg, legend_html, room_css

INK, FAINT = THEME[INK_NAME], THEME[FAINT_NAME]
_FOLDER = Path(__file__).parent


@cache
def page_html() -> str:
    """How explorers look and behave on a page: styles, and a script that runs when they are there."""
    script = f"const element = this;{(_FOLDER / 'page.js').read_text()}"
    return f'<style onload="{escape(script)}">{(_FOLDER / "page.css").read_text()}{room_css()}</style>'


@cache
def note_html() -> str:
    """What tells a page that an explorer was here, also when its kernel has gone."""
    return f'<style class="explorer-note">{(_FOLDER / "dead.css").read_text()}</style>'


def part_html(part: Panel | Table) -> str:
    """A panel under its title and legend, or a table's facts."""
    if isinstance(part, Table):
        return _facts_html(part.facts, part.origin)
    drawing = part.drawing()
    return _figure_html(part.title, legend_html(drawing.legend) + drawing_svg(drawing, part.words), part.origin)


def words_html(text: str, moved: str) -> str:
    """The caption; it carries what is said before it to those who hear the page: the control that has moved."""
    if not text and not moved:
        return ""
    look = f"color:{FAINT};margin:2px 0 8px;line-height:1.4;min-height:1.4em"
    return f'<p class="explorer-words" data-moved="{escape(moved)}" style="{look}">{escape(text)}</p>'


def error_html(error: Exception) -> str:
    """An error, to stand where the pictures would be."""
    look = "white-space:pre-wrap;border-left:4px solid #d55e00;padding:0.4em 0.8em;max-width:48em"
    return f'<pre role="alert" style="{look};color:{INK}">{escape(error_text(error))}</pre>'


def error_text(error: Exception) -> str:
    """An error in one line; a wrong value's in words alone."""
    return f"This setting has no picture: {error}." if type(error) is ValueError else f"{type(error).__name__}: {error}"


def _figure_html(title: str, picture: str, origin: str) -> str:
    """A picture under its title, which names the origin of its numbers."""
    label = f'<small style="color:{FAINT};font-weight:normal"> {escape(origin)}</small>' if origin else ""
    look = f"font-weight:600;line-height:1.4;margin:0 0 4px;color:{INK}"
    heading = f'<figcaption style="{look}">{escape(title)}{label}</figcaption>'
    return f'<figure style="margin:0 0 12px">{heading}{picture}</figure>'


def _facts_html(facts: Mapping[str, str], origin: str) -> str:
    """Facts in a row, each under its name and with room to grow, and the origin of those that do not name it."""
    look = f"color:{FAINT};font-size:90%"
    cells = "".join(
        f'<div style="min-width:5.5em;margin:0 1.2em 0.3em 0"><div style="{look}">{escape(name)}</div>'
        f'<div style="font-weight:600">{escape(value)}</div></div>'
        for name, value in facts.items()
    )
    label = f'<small style="{look};align-self:flex-end;margin-bottom:0.3em">{escape(origin)}</small>'
    return f'<div style="display:flex;flex-wrap:wrap;line-height:1.4;margin:0 0 4px">{cells}{label}</div>'
