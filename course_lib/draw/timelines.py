"""The timeline of an execution: what every rank sent, received and waited for, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from course_lib.comm import Trace
from course_lib.draw.style import (
    FILLS,
    INK,
    MUTED,
    Picture,
    every,
    finish,
    ink_on,
    new_picture,
    origin_of,
    spread,
    styled,
    trace_of,
)
from course_lib.draw.units import format_count, format_seconds, time_unit

__all__ = [
    "LANES",
    "LANES_WITH_STARTED",
    "describe_timeline",
    "draw_timeline",
    "lanes_of",
    "timeline_keys",
    "timeline_legend",
    "timeline_on",
    "timeline_rows",
]


class Lane(NamedTuple):
    """How stretches of one kind look: color, and bottom and height within the row of their rank."""

    color: str
    bottom: float
    height: float


class Stretch(NamedTuple):
    """What a rank does for a while; only a message has another rank and a step."""

    start_s: float
    end_s: float
    other: int = -1
    step: int = -1


_SEND, _RECEIVE, _WORK, _WAIT = (fill.color for fill in FILLS["what ranks do"].values())
LANES = {
    "send": Lane(_SEND, 0.08, 0.38),
    "receive": Lane(_RECEIVE, 0.54, 0.38),
    "work": Lane(_WORK, 0.0, 1.0),
    "wait": Lane(_WAIT, 0.0, 1.0),
}
# The same where ranks have started functions: a strip for the program, and below it what runs beside it.
LANES_WITH_STARTED = {
    "send": Lane(_SEND, 0.42, 0.25),
    "receive": Lane(_RECEIVE, 0.71, 0.25),
    "work": Lane(_WORK, 0.0, 0.36),
    "wait": Lane(_WAIT, 0.0, 0.36),
    "started work": Lane(_WORK, 0.36, 0.64),
    "started wait": Lane(_WAIT, 0.36, 0.64),
}
_MESSAGES = ("send", "receive")
_STARTED_NOTE = "In each row the program is above, functions it started and all messages below"
_MAX_RANKS = 32
_MAX_LABELS = 120


@styled
def draw_timeline(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """One row a rank: sends above, receives below, work and waiting behind them.

    Where ranks have started functions, each row has a strip for the program alone above all that.

    Args:
        execution: a Report or a Trace.
        origin: where the times are from; a Report knows it.
    """
    trace = trace_of(execution)
    rows = min(trace.world_size, _MAX_RANKS)
    row_height = (0.36 if rows <= 8 else 0.18) * (1.5 if trace.has_started else 1)
    picture, axes = new_picture(7.4, 0.95 + max(row_height * rows, 0.8))
    timeline_on(axes, trace)
    above = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.99), "borderaxespad": 0.2}
    axes.legend(handles=timeline_legend(trace), ncols=4, columnspacing=1.2, handlelength=1.2, **above)
    axes.set_title(title or f"{trace.world_size} ranks, {format_seconds(trace.seconds)}")
    note = note or _STARTED_NOTE * trace.has_started
    return finish(picture, origin=origin_of(execution, origin), alt=describe_timeline(trace), note=note)


def timeline_on(axes: Axes, trace: Trace) -> None:
    """Draw the timeline on axes, without its legend."""
    ranks = spread(trace.world_size, _MAX_RANKS)
    scale, unit = time_unit(trace.seconds)
    looks = lanes_of(trace)
    for row, lanes in enumerate(timeline_rows(trace, ranks).values()):
        for lane, stretches in lanes.items():
            color, bottom, height = looks[lane]
            bars = [(s.start_s / scale, (s.end_s - s.start_s) / scale) for s in stretches]
            narrow = 0.005 * trace.seconds / scale  # a white edge would hide all of such a bar
            edges = ["white" if width > narrow else color for _, width in bars] if lane in _MESSAGES else "none"
            axes.broken_barh(bars, (row + bottom, height), facecolor=color, edgecolor=edges, linewidth=0.5)
    if len(trace.messages) <= _MAX_LABELS and len(ranks) <= 8:
        _label_messages(axes, trace, scale)
    _dress(axes, ranks, trace, scale, unit)


def describe_timeline(trace: Trace) -> str:
    """The timeline in words."""
    waiting = trace.waiting_s
    longest = max(range(trace.world_size), key=lambda rank: waiting[rank])
    text = (
        f"Timeline of {trace.world_size} ranks over {format_seconds(trace.seconds)}: {len(trace.messages)} messages "
        f"in {format_count(trace.steps, 'step')}."
    )
    if waiting[longest] > 1e-3 * trace.seconds:
        text += f" Rank {longest} waits longest with nothing on the wire, {format_seconds(waiting[longest])}."
    else:
        text += " No rank waits with nothing on the wire."
    return text + f" {_STARTED_NOTE}." * trace.has_started


def lanes_of(trace: Trace) -> dict[str, Lane]:
    """The lanes that its timeline has."""
    return LANES_WITH_STARTED if trace.has_started else LANES


def timeline_keys(trace: Trace) -> dict[str, str]:
    """What the colors of its timeline mean: lane -> word."""
    words = {"send": "sends", "receive": "receives", "work": "works", "wait": "waits"}
    return {lane: word for lane, word in words.items() if lane != "work" or trace.spans}


def timeline_rows(trace: Trace, ranks: Iterable[int]) -> dict[int, dict[str, list[Stretch]]]:
    """What to draw for these ranks: rank -> lane -> stretches, back to front."""
    rows: dict[int, dict[str, list[Stretch]]] = {
        rank: {lane: [] for lane in reversed(lanes_of(trace))} for rank in ranks
    }
    nobody: dict[str, list[Stretch]] = defaultdict(list)
    for lane, spans in (("wait", trace.waits), ("work", trace.spans)):
        for span in spans:
            rows.get(span.rank, nobody)[f"{span.stream} {lane}".strip()].append(Stretch(span.start_s, span.end_s))
    for m in trace.messages:
        rows.get(m.src, nobody)["send"].append(Stretch(m.start_s, m.end_s, m.dst, m.step))
        rows.get(m.dst, nobody)["receive"].append(Stretch(m.start_s, m.end_s, m.src, m.step))
    return rows


def _label_messages(axes: Axes, trace: Trace, scale: float) -> None:
    """Write the other rank into every bar that is wide enough for it."""
    looks = lanes_of(trace)
    for message in trace.messages:
        if message.end_s - message.start_s < 0.035 * trace.seconds:
            continue
        middle = (message.start_s + message.end_s) / 2 / scale
        for lane, row, text in (("send", message.src, f"→{message.dst}"), ("receive", message.dst, f"←{message.src}")):
            color, bottom, height = looks[lane]
            axes.text(
                middle,
                row + bottom + height / 2,
                text,
                ha="center",
                va="center_baseline",
                fontsize=9,
                color=ink_on(color),
            )


def timeline_legend(trace: Trace) -> list[Patch]:
    """One entry a color."""
    look = {"edgecolor": MUTED, "linewidth": 0.5}
    return [Patch(facecolor=LANES[lane].color, label=word, **look) for lane, word in timeline_keys(trace).items()]


def _dress(axes: Axes, ranks: list[int], trace: Trace, scale: float, unit: str) -> None:
    axes.set_ylim(len(ranks), 0)
    axes.set_xlim(0, trace.seconds / scale or 1)
    few = every(len(ranks), 16)
    axes.set_yticks([row + 0.5 for row in few], [str(ranks[row]) for row in few])
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("rank")
    axes.set_xlabel(f"time ({unit})")
    axes.grid(axis="x")
    for row in range(1, len(ranks)):
        axes.axhline(row, color=INK, linewidth=0.25)
