"""Boxes, arrows and captions: what the schematic pictures are made of."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from course_lib.draw.colors import COLORS, GROUNDS
from course_lib.draw.style import INK, MUTED, ink_on

__all__ = ["arrow", "block", "caption", "empty", "frame"]


def empty(axes: Axes, width: float, height: float) -> Axes:
    """Make axes a sheet of paper of this size, origin at the lower left."""
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    return axes


def block(
    axes: Axes, x: float, y: float, width: float, height: float, color: str, text: str = "", size: float = 9
) -> None:
    """A filled box with a word in it."""
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor="white", linewidth=1.2))
    if text:
        axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, color=ink_on(color))


def frame(axes: Axes, x: float, y: float, width: float, height: float, text: str) -> None:
    """A rounded box round other things, its name below the upper edge."""
    style = "round,pad=0,rounding_size=0.12"
    look = {"facecolor": GROUNDS["nothing"], "edgecolor": COLORS["gray"], "zorder": 0}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))
    axes.text(x + width / 2, y + height - 0.08, text, ha="center", va="top", fontsize=9, color=INK)


def arrow(axes: Axes, start: tuple[Any, ...], end: tuple[Any, ...], *, both: bool = False, color: str = INK) -> None:
    """An arrow from start to end."""
    look = {"mutation_scale": 11, "color": color, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="<|-|>" if both else "-|>", **look))


def caption(axes: Axes, x: float, y: float, text: str, *, ha: str = "center", bold: bool = False) -> None:
    """Words on the paper."""
    look = {"fontsize": 9.5, "color": INK, "fontweight": "bold"} if bold else {"fontsize": 9, "color": MUTED}
    axes.text(x, y, text, ha=ha, va="center", **look)
