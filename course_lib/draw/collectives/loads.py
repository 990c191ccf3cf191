"""Bars of what each rank sent and received, algorithm beside algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from course_lib.draw.style import (
    FILLS,
    PAGE_IN,
    Picture,
    every,
    finish,
    label_outer,
    new_panels,
    origins_of,
    put_title,
    styled,
    trace_of,
)
from course_lib.draw.units import byte_unit, format_bytes

__all__ = ["describe_bytes_per_rank", "draw_bytes_per_rank"]


@styled
def draw_bytes_per_rank(
    executions: Mapping[str, Any], *, origin: str | None = None, title: str = "", note: str = ""
) -> Picture:
    """A panel an algorithm, two bars a rank: bytes sent and bytes received, on one scale.

    Args:
        executions: name -> Report, Trace, or anything with `bytes_sent` and `bytes_received` by rank.
    """
    loads = {name: _loads(execution) for name, execution in executions.items()}
    scale, unit = byte_unit(max(max(sent + received) for sent, received in loads.values()))
    columns = min(len(loads), 4)
    width_in = 5.0 if columns == 1 else min(2.5, PAGE_IN / columns)
    picture, panels = new_panels(len(loads), columns, width_in, 1.9, 0.7, sharey=True)
    for place, (axes, (name, (sent, received))) in enumerate(zip(panels, loads.items(), strict=True)):
        _draw_panel(axes, [b / scale for b in sent], [b / scale for b in received])
        axes.set_title(name)
        label_outer(axes, place, columns, len(loads), "rank", unit)
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside upper right", ncols=2, handlelength=1.2)
    put_title(picture, title)
    origin = origins_of(executions.values(), origin)
    return finish(picture, origin=origin, alt=describe_bytes_per_rank(loads), note=note)


def describe_bytes_per_rank(loads: Mapping[str, tuple[list[int], list[int]]]) -> str:
    """The bars in words: for each algorithm how evenly the bytes are spread."""
    parts = []
    for name, (sent, received) in loads.items():
        low, high = format_bytes(min(sent)), format_bytes(max(sent))
        spread_text = f"every rank sends {high}" if min(sent) == max(sent) else f"ranks send {low} to {high}"
        parts.append(f"{name}: {spread_text}, the most received is {format_bytes(max(received))}")
    return "Bars of bytes by rank. " + "; ".join(parts) + "."


def _loads(execution: Any) -> tuple[list[int], list[int]]:
    trace = trace_of(execution)
    return list(trace.bytes_sent), list(trace.bytes_received)


def _draw_panel(axes: Axes, sent: list[float], received: list[float]) -> None:
    ranks = range(len(sent))
    axes.bar([r - 0.2 for r in ranks], sent, 0.38, color=FILLS["what ranks do"]["send"].color, label="sent")
    axes.bar(
        [r + 0.2 for r in ranks],
        received,
        0.38,
        color=FILLS["what ranks do"]["receive"].color,
        hatch="///",
        edgecolor="white",
        label="received",
    )
    few = every(len(sent), 8)
    axes.set_xticks(few, [str(r) for r in few])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")
