"""What a trace sent: bytes from whom to whom as a heat map, and what each rank sent and received as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_lib.comm import Trace
from course_lib.draw.colors import fraction_color
from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Bars, Cell, Matrix, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, origin_of, origins_of, trace_of
from course_lib.draw.units import byte_unit, format_bytes

__all__ = [
    "describe_bytes_per_rank",
    "describe_link_heatmap",
    "draw_bytes_per_rank",
    "draw_link_heatmap",
    "link_panel",
]

_MAX_NUMBERED = 8


def draw_link_heatmap(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """Bytes by link, senders down and receivers across; with at most 8 ranks every cell says its number.

    Args:
        execution: a Report or a Trace. Byte counts are exact under every executor.
    """
    trace = trace_of(execution)
    title = title or f"{format_bytes(trace.total_bytes)} in {len(trace.messages)} messages"
    panel = link_panel(
        trace,
        title=title,
        origin=origin_of(execution, origin),
        wide=True,
        min_px=28.0 if trace.world_size <= _MAX_NUMBERED else 12.0,
    )
    return picture_of([panel], alt=describe_link_heatmap(trace), note=note, width_in=5.4)


def link_panel(
    trace: Trace,
    *,
    title: str = "Bytes from rank (down) to rank (across)",
    origin: str = "simulated",
    step: int | None = None,
    **more: Any,
) -> Matrix:
    """Bytes by link as a heat map; the links in use in this step are outlined. `more`: what else a Matrix has."""
    ranks = trace.world_size
    most = max(max(row) for row in trace.link_bytes) or 1
    scale, unit = byte_unit(most)
    numbered = ranks <= _MAX_NUMBERED
    now = {(m.src, m.dst) for m in trace.messages if m.step == step}

    def cell(src: int, dst: int, count: int) -> Cell:
        if not count:
            return Cell("paper", "0" if numbered and src != dst else "", (src, dst) in now)
        text = _short(count / scale) if numbered else ""
        return Cell(fraction_color(0.15 + 0.85 * count / most), text, (src, dst) in now)

    named = f"; cells in {unit}" if numbered else ""
    return Matrix(
        title=title,
        origin=origin,
        label=describe_link_heatmap(trace),
        cells=[[cell(src, dst, count) for dst, count in enumerate(row)] for src, row in enumerate(trace.link_bytes)],
        row_names=[str(rank) for rank in range(ranks)],
        column_names=[str(rank) for rank in range(ranks)],
        across=f"to rank; most: {format_bytes(most)}{named}",
        down="from rank",
        **more,
    )


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


def draw_bytes_per_rank(
    executions: Mapping[str, Any], *, origin: str | None = None, title: str = "", note: str = ""
) -> Picture:
    """A panel an algorithm, two bars a rank: bytes sent and bytes received, on one scale.

    Args:
        executions: name -> Report, Trace, or anything with `bytes_sent` and `bytes_received` by rank.
    """
    loads = {name: _loads(execution) for name, execution in executions.items()}
    scale = axis("bytes", [max(max(sent + received) for sent, received in loads.values())], "B", most=4)
    origin = origins_of(executions.values(), origin)
    panels = [_load_panel(name, *loads[name], scale, origin) for name in loads]
    columns = min(len(loads), 4)
    look: dict[str, Any] = {
        "title": title,
        "columns": columns,
        "width_in": 5.4 if columns == 1 else PAGE_IN,
        "shared": True,
    }
    return picture_of(panels, alt=describe_bytes_per_rank(loads), note=note, **look)


def _load_panel(name: str, sent: list[int], received: list[int], scale: Any, origin: str) -> Bars:
    looks = FILLS["what ranks do"]
    return Bars(
        title=name,
        origin=origin,
        bars={str(rank): {"sent": a, "received": b} for rank, (a, b) in enumerate(zip(sent, received, strict=True))},
        axis=scale,
        upright=True,
        apart=True,
        names="rank",
        colors={"sent": looks["send"].color, "received": looks["receive"].color},
        hatches={"received": "///"},
        grid=True,
    )


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


def _short(number: float) -> str:
    """Three digits, no exponent: 1.75, 12.5, 340."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
