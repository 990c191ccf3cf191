"""The pieces of a page around pictures: legends, titles, numbers, captions, errors, and how explorers are laid out."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from html import escape

from matplotlib.figure import Figure

from course_lib.draw.style import Picture, alt_text
from course_lib.widgets.svg import FAINT, INK, boxes, curve

__all__ = [
    "STYLE",
    "error_html",
    "error_text",
    "figure_html",
    "image_html",
    "legend",
    "numbers_html",
    "words_html",
]

STYLE = """<style>
.explorer-controls, .explorer-pictures { display: grid; column-gap: 1.5em; }
.explorer-controls { grid-template-columns: repeat(auto-fit, minmax(min(max(20em, 32%), 100%), 1fr)); }
.explorer-pictures { grid-template-columns: repeat(auto-fit, minmax(min(max(28em, 40%), 100%), 1fr)); }
.explorer-pictures > * { width: auto; min-width: 0; margin: 0; align-items: stretch; }
.explorer-pictures > .explorer-wide { grid-column: 1 / -1; }
.explorer .widget-html-content { min-width: 0; }
.explorer .widget-readout { min-width: 6em; }
.explorer .noUi-handle:focus, .explorer button:focus, .explorer select:focus, .explorer .widget-readout:focus {
  outline: 3px solid #e69f00 !important; outline-offset: 1px; }
.explorer-said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
</style>"""


def legend(entries: Iterable[tuple[str, str, str | None]]) -> str:
    """What colors mean, above a picture: (text, color, dash of a line); None in place of a dash is a box."""
    keys = []
    for text, color, dash in entries:
        shape = boxes([(7, 1, 10, 10)], color) if dash is None else curve([(0, 6), (24, 6)], color, dash)
        swatch = f'<svg aria-hidden="true" width="24" height="12" style="vertical-align:-1px">{shape}</svg>'
        keys.append(f'<span style="margin-right:1em;white-space:nowrap">{swatch} {escape(text)}</span>')
    return f'<div style="font-size:12px;line-height:1.5;color:{INK};margin-bottom:4px">{"".join(keys)}</div>'


def figure_html(title: str, picture: str, origin: str) -> str:
    """A picture under its title, which names the origin of its numbers."""
    label = f'<small style="color:{FAINT};font-weight:normal"> {escape(origin)}</small>' if origin else ""
    look = f"font-weight:600;line-height:1.4;margin:0 0 4px;color:{INK}"
    heading = f'<figcaption style="{look}">{escape(title)}{label}</figcaption>'
    return f'<figure style="margin:0 0 14px">{heading}{picture}</figure>'


def numbers_html(facts: Mapping[str, str], origin: str) -> str:
    """Facts in a row, each under its name and with room to grow, and the origin of those that do not name it."""
    look = f"color:{FAINT};font-size:90%"
    cells = "".join(
        f'<div style="min-width:5.5em;margin:0 1.2em 0.3em 0"><div style="{look}">{escape(name)}</div>'
        f'<div style="font-weight:600">{escape(value)}</div></div>'
        for name, value in facts.items()
    )
    label = f'<small style="{look};align-self:flex-end;margin-bottom:0.3em">{escape(origin)}</small>'
    return f'<div style="display:flex;flex-wrap:wrap;line-height:1.4;margin:4px 0">{cells}{label}</div>'


def image_html(figure: Figure) -> str:
    """A figure as an image with its text alternative."""
    if not isinstance(figure, Picture):
        raise TypeError(f"a panel must give a Picture (see new_picture) or HTML, got {type(figure).__name__}")
    source = base64.b64encode(figure.png()).decode("ascii")
    return f'<img alt="{escape(alt_text(figure))}" src="data:image/png;base64,{source}" style="max-width:100%">'


def words_html(text: str, moved: str) -> str:
    """The caption; to those who hear the page, a word before it about the control that has moved."""
    if not text and not moved:
        return ""
    said = f'<span class="explorer-said">{escape(moved)} </span>' if moved else ""
    look = f"color:{FAINT};margin:2px 0 8px;line-height:1.4;min-height:2.8em"
    return f'<p role="status" aria-live="polite" style="{look}">{said}{escape(text)}</p>'


def error_html(error: Exception) -> str:
    """An error, to stand where a picture would be."""
    look = "white-space:pre-wrap;border-left:4px solid #d55e00;padding:0.4em 0.8em;max-width:48em"
    return f'<pre role="alert" style="{look};color:{INK}">{escape(error_text(error))}</pre>'


def error_text(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}"
