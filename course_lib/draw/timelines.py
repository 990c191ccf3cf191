"""The timeline of an execution: what every rank sent, received and waited for, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from course_lib.comm import Trace
from course_lib.draw.colors import FILLS
from course_lib.draw.panels import Lane, Stretch, Timeline
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, origin_of, spread, trace_of
from course_lib.draw.units import format_count, format_seconds


class Strip(NamedTuple):
    """How stretches of one kind look: color, and top and height within the row of their rank."""

    color: str
    top: float
    height: float


class Doing(NamedTuple):
    """What a rank does for a while; only a message has another rank and a step."""

    start_s: float
    end_s: float
    other: int = -1
    step: int = -1


_SEND, _RECEIVE, _WORK, _WAIT = (fill.color for fill in FILLS["what ranks do"].values())
# Messages lie above and below the work, and who waits has a thin line: nothing is done there.
LANES = {
    "send": Strip(_SEND, 0.05, 0.28),
    "receive": Strip(_RECEIVE, 0.67, 0.28),
    "work": Strip(_WORK, 0.36, 0.28),
    "wait": Strip(_WAIT, 0.46, 0.08),
}
# The same where ranks have started functions: a strip for the program, and below it what runs beside it.
LANES_WITH_STARTED = {
    "send": Strip(_SEND, 0.42, 0.25),
    "receive": Strip(_RECEIVE, 0.71, 0.25),
    "work": Strip(_WORK, 0.0, 0.36),
    "wait": Strip(_WAIT, 0.13, 0.1),
    "started work": Strip(_WORK, 0.36, 0.64),
    "started wait": Strip(_WAIT, 0.635, 0.1),
}
_MESSAGES = {"send": "→", "receive": "←"}
_WORDS = {"send": "sends", "receive": "receives", "work": "works", "wait": "waits"}
_STARTED_NOTE = "In each row the program is above, functions it started and all messages below"
_MAX_RANKS = 32
_MAX_LABELS = 120
_TEXT_PX = 9.5  # that numbers need


def draw_timeline(execution: Any, *, origin: str | None = None, title: str = "", note: str = "") -> Picture:
    """One row a rank: sends above, receives below, work and waiting between them.

    Where ranks have started functions, each row has a strip for the program alone above all that.

    Args:
        execution: a Report or a Trace.
        origin: where the times are from; a Report knows it.
    """
    trace = trace_of(execution)
    title = title or f"{trace.world_size} ranks, {format_seconds(trace.seconds)}"
    panel = timeline_panel(trace, title=title, origin=origin_of(execution, origin))
    note = note or (_STARTED_NOTE if trace.has_started else "")
    return picture_of([panel], alt=describe_timeline(trace), note=note)


def timeline_panel(
    trace: Trace,
    *,
    title: str,
    origin: str,
    step: int | None = None,
    ranks: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    until_s: float | None = None,
    high_px: float = 340.0,
    **more: Any,
) -> Timeline:
    """A trace as a panel.

    Args:
        step: the messages of this step are outlined.
        ranks: those that have a row, and their names; by default at most 32, spread evenly.
        until_s: what comes later is left out.
        high_px: of all rows, about.
        more: what else a Timeline has.
    """
    ranks = ranks or spread(trace.world_size, _MAX_RANKS)
    row_px = min(42.0, max(7.0, high_px / len(ranks))) * (1.3 if trace.has_started else 1.0)
    few = len(trace.messages) <= _MAX_LABELS and 0.92 * row_px * lanes_of(trace)["send"].height > _TEXT_PX
    look: dict[str, Any] = {"label": describe_timeline(trace), "wide": True, "grid": True} | more
    return Timeline(
        title=title,
        origin=origin,
        rows=names or [f"rank {rank}" if len(ranks) <= 16 else str(rank) for rank in ranks],
        lanes=_lanes(trace, ranks, step, labeled=few),
        row_px=row_px,
        seconds=until_s or trace.seconds or 1.0,
        **look,
    )


def _lanes(trace: Trace, ranks: Sequence[int], step: int | None, labeled: bool) -> dict[str, Lane]:
    """Work and waiting, and messages in front of them; `labeled` says whom they come from or go to."""
    rows = timeline_rows(trace, ranks)
    lanes = {}
    for name, (color, top, height) in sorted(lanes_of(trace).items(), key=lambda lane: lane[0] in _MESSAGES):
        sign = _MESSAGES.get(name, "")
        stretches = [
            Stretch(row, s.start_s, s.end_s, f"{sign}{s.other}" if sign and labeled else "", s.step == step)
            for row, of_rank in enumerate(rows.values())
            for s in of_rank[name]
        ]
        key = name in _WORDS and (name != "work" or bool(trace.spans))
        place = {"top": 0.04 + 0.92 * top, "height": 0.92 * height, "least": 0.002 if sign else 0.0005}
        lanes[_WORDS.get(name, name)] = Lane(color, stretches, **place, edge=bool(sign), key=key)
    return lanes


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
    return text + (f" {_STARTED_NOTE}." if trace.has_started else "")


def lanes_of(trace: Trace) -> dict[str, Strip]:
    """The lanes that its timeline has."""
    return LANES_WITH_STARTED if trace.has_started else LANES


def timeline_rows(trace: Trace, ranks: Iterable[int]) -> dict[int, dict[str, list[Doing]]]:
    """What to draw for these ranks: rank -> lane -> stretches, back to front."""
    rows: dict[int, dict[str, list[Doing]]] = {rank: {lane: [] for lane in reversed(lanes_of(trace))} for rank in ranks}
    nobody: dict[str, list[Doing]] = defaultdict(list)
    for lane, spans in (("wait", trace.waits), ("work", trace.spans)):
        for span in spans:
            rows.get(span.rank, nobody)[f"{span.stream} {lane}".strip()].append(Doing(span.start_s, span.end_s))
    for m in trace.messages:
        rows.get(m.src, nobody)["send"].append(Doing(m.start_s, m.end_s, m.dst, m.step))
        rows.get(m.dst, nobody)["receive"].append(Doing(m.start_s, m.end_s, m.src, m.step))
    return rows
