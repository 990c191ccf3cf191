"""The timeline of an execution: what every rank sent, received and waited for, and when."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course_lib.comm import Trace
from course_lib.draw.style import (
    COLORS,
    INK,
    MUTED,
    Picture,
    finish,
    ink_on,
    new_picture,
    origin_of,
    spread,
    styled,
    trace_of,
)
from course_lib.draw.units import format_seconds, time_unit

__all__ = ["LANES", "LANES_WITH_STARTED", "describe_timeline", "draw_timeline", "rank_lanes", "timeline_on"]

# What a lane shows -> (color, bottom and height within the row of its rank).
LANES = {
    "send": (COLORS["blue"], 0.08, 0.38),
    "receive": (COLORS["orange"], 0.54, 0.38),
    "work": ("#8fd0bb", 0.0, 1.0),
    "wait": ("#e3e3e3", 0.0, 1.0),
}
# The same where ranks have started functions: a strip for the program, and below it what runs beside it.
LANES_WITH_STARTED = {
    "send": (COLORS["blue"], 0.42, 0.25),
    "receive": (COLORS["orange"], 0.71, 0.25),
    "work": ("#8fd0bb", 0.0, 0.36),
    "wait": ("#e3e3e3", 0.0, 0.36),
    "started work": ("#8fd0bb", 0.36, 0.64),
    "started wait": ("#e3e3e3", 0.36, 0.64),
}
_STARTED_NOTE = "In each row the program is above, functions it started and all messages below"
_MOST_RANKS = 32
_MOST_LABELS = 120


@styled
def draw_timeline(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """One row a rank: sends above, receives below, work and waiting behind them.

    Where ranks have started functions, each row has a strip for the program alone above all that.

    Args:
        execution: a Report or a Trace.
        origin: where the times are from; a Report knows it.
    """
    trace = trace_of(execution)
    rows = min(trace.world_size, _MOST_RANKS)
    row_height = (0.36 if rows <= 8 else 0.18) * (1.5 if trace.has_started else 1)
    picture, axes = new_picture(7.4, 0.95 + max(row_height * rows, 0.8))
    timeline_on(axes, trace)
    axes.set_title(title or f"{trace.world_size} ranks, {format_seconds(trace.seconds)}")
    note = note or _STARTED_NOTE * trace.has_started
    return finish(picture, origin=origin_of(execution, origin), alt=describe_timeline(trace), note=note)


def timeline_on(axes: Axes, trace: Trace) -> None:
    """Draw the timeline and its legend on axes."""
    ranks = spread(trace.world_size, _MOST_RANKS)
    scale, unit = time_unit(trace.seconds)
    for row, rank in enumerate(ranks):
        for lane, stretches in rank_lanes(trace, rank).items():
            color, bottom, height = _lanes(trace)[lane]
            bars = [(start / scale, (end - start) / scale) for start, end, _ in stretches]
            edge = "white" if lane in ("send", "receive") else "none"
            axes.broken_barh(bars, (row + bottom, height), color=color, edgecolor=edge, linewidth=0.5)
    if len(trace.messages) <= _MOST_LABELS and len(ranks) <= 8:
        _label_messages(axes, trace, scale)
    _dress(axes, ranks, trace, scale, unit)
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.99), "borderaxespad": 0.2, "handlelength": 1.2}
    axes.legend(handles=_legend(trace), ncols=4, columnspacing=1.2, **place)


def describe_timeline(trace: Trace) -> str:
    """The timeline in words."""
    waiting = trace.waiting_s
    longest = max(range(trace.world_size), key=lambda rank: waiting[rank])
    text = (
        f"Timeline of {trace.world_size} ranks over {format_seconds(trace.seconds)}: {len(trace.messages)} messages "
        f"in {trace.steps} steps."
    )
    if waiting[longest] > 1e-3 * trace.seconds:
        text += f" Rank {longest} waits longest with nothing on the wire, {format_seconds(waiting[longest])}."
    else:
        text += " No rank waits with nothing on the wire."
    return text + f" {_STARTED_NOTE}." * trace.has_started


def rank_lanes(trace: Trace, rank: int) -> dict[str, list[tuple[float, float, int]]]:
    """What to draw for one rank: lane -> (start, end, other rank) in seconds, back to front; -1 where there is none."""
    lanes: dict[str, list[tuple[float, float, int]]] = {lane: [] for lane in reversed(_lanes(trace))}
    for lane, spans in (("wait", trace.waits), ("work", trace.spans)):
        for span in spans:
            if span.rank == rank:
                lanes[f"{span.stream} {lane}".strip()].append((span.start_s, span.end_s, -1))
    lanes["send"] = [(m.start_s, m.end_s, m.dst) for m in trace.messages if m.src == rank]
    lanes["receive"] = [(m.start_s, m.end_s, m.src) for m in trace.messages if m.dst == rank]
    return lanes


def _lanes(trace: Trace) -> dict[str, tuple[str, float, float]]:
    return LANES_WITH_STARTED if trace.has_started else LANES


def _label_messages(axes: Axes, trace: Trace, scale: float) -> None:
    """Write the other rank into every bar that is wide enough for it."""
    for message in trace.messages:
        if message.end_s - message.start_s < 0.035 * trace.seconds:
            continue
        middle = (message.start_s + message.end_s) / 2 / scale
        for lane, row, text in (("send", message.src, f"→{message.dst}"), ("receive", message.dst, f"←{message.src}")):
            color, bottom, height = _lanes(trace)[lane]
            axes.text(
                middle,
                row + bottom + height / 2,
                text,
                ha="center",
                va="center_baseline",
                fontsize=9,
                color=ink_on(color),
            )


def _legend(trace: Trace) -> list[Patch]:
    words = {"send": "sends", "receive": "receives", "work": "works", "wait": "waits"}
    shown = [lane for lane in words if lane != "work" or trace.spans]
    return [Patch(facecolor=LANES[lane][0], edgecolor=MUTED, linewidth=0.5, label=words[lane]) for lane in shown]


def _dress(axes: Axes, ranks: list[int], trace: Trace, scale: float, unit: str) -> None:
    axes.set_ylim(len(ranks), 0)
    axes.set_xlim(0, trace.seconds / scale or 1)
    few = spread(len(ranks), 16)
    axes.set_yticks([row + 0.5 for row in few], [str(ranks[row]) for row in few])
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("rank")
    axes.set_xlabel(f"time ({unit})")
    axes.grid(axis="x")
    for row in range(1, len(ranks)):
        axes.axhline(row, color=INK, linewidth=0.25)
