"""The heat map of the wire: how many bytes went from whom to whom."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from course_lib.comm import Trace
from course_lib.draw.style import (
    CARD,
    GRID,
    Picture,
    every,
    finish,
    fraction_color,
    ink_on,
    new_picture,
    origin_of,
    styled,
    trace_of,
)
from course_lib.draw.units import byte_unit, format_bytes

__all__ = ["describe_link_heatmap", "draw_link_heatmap", "link_heatmap_on"]

_BLUES = LinearSegmentedColormap.from_list("blues", [fraction_color(i / 20) for i in range(21)])


@styled
def draw_link_heatmap(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """Bytes by link, senders down and receivers across; with at most 8 ranks every cell says its number.

    Args:
        execution: a Report or a Trace. Byte counts are exact under every executor.
    """
    trace = trace_of(execution)
    picture, axes = new_picture(5.4, 4.2)
    label = f"bytes from sender to receiver ({link_heatmap_on(axes, trace)})"
    picture.colorbar(axes.images[0], ax=axes, shrink=0.9, label=label).outline.set_visible(False)
    axes.set_title(title or f"{format_bytes(trace.total_bytes)} in {len(trace.messages)} messages")
    return finish(picture, origin=origin_of(execution, origin), alt=describe_link_heatmap(trace), note=note)


def link_heatmap_on(axes: Axes, trace: Trace, aspect: Literal["equal", "auto"] = "equal") -> str:
    """Draw the heat map on axes; the unit of its numbers is returned. `aspect` as in matplotlib's imshow."""
    table = np.array(trace.link_bytes, dtype=float)
    scale, unit = byte_unit(table.max())
    blues = _BLUES.with_extremes(bad="#ededed")
    shown = np.ma.masked_array(table / scale, np.eye(trace.world_size, dtype=bool))
    axes.imshow(shown, cmap=blues, vmin=0, vmax=table.max() / scale or 1, aspect=aspect)
    if trace.world_size <= 8:
        _number_cells(axes, table / scale)
    _dress(axes, trace.world_size)
    return unit


def describe_link_heatmap(trace: Trace) -> str:
    """The heat map in words."""
    loads = {(s, d): b for s, row in enumerate(trace.link_bytes) for d, b in enumerate(row) if b}
    links = trace.world_size * (trace.world_size - 1)
    text = (
        f"Heat map of bytes by link between {trace.world_size} ranks: {len(loads)} of {links} links "
        f"carry {format_bytes(trace.total_bytes)}"
    )
    if not loads:
        return text + "."
    busiest = max(loads, key=lambda link: loads[link])
    if len(set(loads.values())) == 1:
        return text + f", {format_bytes(loads[busiest])} each."
    return text + f"; the busiest, {busiest[0]} to {busiest[1]}, {format_bytes(loads[busiest])}."


def short_number(number: float) -> str:
    """Three digits, no exponent: 1.75, 12.5, 340."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _number_cells(axes: Axes, table: np.ndarray) -> None:
    most = table.max() or 1
    for (src, dst), number in np.ndenumerate(table):
        if src != dst:
            color = fraction_color(number / most)
            text = short_number(number) if number else "0"
            axes.text(
                dst, src, text, ha="center", va="center", fontsize=9, color=ink_on(color) if number else "#8a8a8a"
            )


def _dress(axes: Axes, world_size: int) -> None:
    ticks = every(world_size, 16)
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.set_yticks(ticks, [str(t) for t in ticks])
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if world_size <= 32:
        axes.set_xticks(np.arange(-0.5, world_size), minor=True)
        axes.set_yticks(np.arange(-0.5, world_size), minor=True)
        axes.grid(which="minor", color=CARD if world_size > 8 else GRID, linewidth=1)
        axes.tick_params(which="minor", length=0)
