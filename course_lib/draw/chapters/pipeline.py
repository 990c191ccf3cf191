"""Schedules as pictures: a row a rank, a box an operation with its micro-batch's number, white where a rank idles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.colors import to_hex, to_rgb

from course_lib.draw.bar_charts import goal_bars, goal_color
from course_lib.draw.colors import COLORS, FILLS, luminance
from course_lib.draw.panels import Lane, Stretch, Timeline, axis
from course_lib.draw.panels.drawing import Key
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_count, format_seconds
from course_lib.pipeline import PipelineTimeline, Timed

PASSES = {"F": "forward", "B": "backward", "W": "weight gradients"}  # the operations' kinds, and their names in FILLS
_ANY = COLORS["gray"]  # stands for all in the legend
_LATER: dict[str, Any] = {
    "top": 0.28,
    "height": 0.66,
}  # boxes of a rank's later stages are lower than those of its first
_DARK = 0.1275  # luminance
_MAX_RANKS = 16
_MAX_BOXES = 700  # more numbers than that nobody reads


def draw_schedule(
    timeline: PipelineTimeline, *, origin: str = "computed", in_units: bool = False, title: str = "", note: str = ""
) -> Picture:
    """One schedule over time, as the papers draw it.

    Args:
        timeline: from `pipeline_timeline` (computed) or `recorded_timeline` (of a run).
        in_units: count time in units, without a name, in place of seconds.
    """
    return _draw({title or timeline.schedule.name: timeline}, origin, in_units, "", note)


def draw_schedules(
    timelines: Mapping[str, PipelineTimeline],
    *,
    origin: str = "computed",
    in_units: bool = False,
    title: str = "",
    note: str = "",
) -> Picture:
    """Several schedules below each other, by name, on one scale of time.

    Raises:
        ValueError: if there is none.
    """
    if not timelines:
        raise ValueError("there must be a schedule to draw, got none")
    return _draw(timelines, origin, in_units, title, note)


def _draw(timelines: Mapping[str, PipelineTimeline], origin: str, in_units: bool, title: str, note: str) -> Picture:
    """The picture: a panel a timeline, on one scale of time."""
    longest_s = max(timeline.makespan_s for timeline in timelines.values())
    unit: dict[str, Any] = {"time": "time (units)", "unit": ""} if in_units else {}
    keys = _keys(timelines.values())
    alone = len(timelines) == 1 and not title  # its name is the picture's
    panels = [
        schedule_panel(timeline, title="" if alone else name, origin=origin, keys=keys, seconds=longest_s, **unit)
        for name, timeline in timelines.items()
    ]
    words = " ".join(describe_schedule(timeline, name, in_units) for name, timeline in timelines.items())
    return picture_of(panels, alt=words, note=note, title=next(iter(timelines)) if alone else title, shared=True)


def schedule_panel(
    timeline: PipelineTimeline,
    *,
    title: str,
    origin: str,
    now: Iterable[Timed | None] = (),
    keys: Iterable[Key] | None = None,
    **more: Any,
) -> Timeline:
    """One schedule as a panel, of at most 16 ranks; numbers stand where they have room.

    Args:
        now: the operations to outline.
        keys: the legend, if it is not the schedule's own.
        more: what else a Timeline has.
    """
    rows = timeline.ranks[:_MAX_RANKS]
    numbered = sum(map(len, timeline.ranks)) <= _MAX_BOXES
    outlined = {id(each) for each in now if each is not None}
    boxes: dict[tuple[str, int], list[Stretch]] = {}
    for row, operations in enumerate(rows):
        for timed in operations:
            (kind, stage, number), start_s, end_s = timed
            text = str(number) if numbered else ""
            box = Stretch(row, start_s, end_s, text, id(timed) in outlined)
            boxes.setdefault((kind, stage // timeline.schedule.world_size), []).append(box)
    look: dict[str, Any] = {"seconds": timeline.makespan_s, "row_px": 26.0} | more
    return Timeline(
        title=title,
        origin=origin,
        wide=True,
        rows=[f"rank {rank}" for rank in range(len(rows))],
        lanes={
            f"{PASSES[kind]} {chunk}": Lane(
                pass_color(kind, chunk), boxes[kind, chunk], key=False, **(_LATER if chunk else {})
            )
            for kind, chunk in sorted(boxes, key=lambda each: (list(PASSES).index(each[0]), each[1]))
        },
        keys=list(keys if keys is not None else _keys([timeline])),
        **look,
    )


def pass_color(kind: str, chunk: int = 0) -> str:
    """The color of an operation; a rank's later stages are darker than its first.

    >>> pass_color("F"), pass_color("F", chunk=1)
    ('#3282c8', '#2868a0')
    """
    return _darker(FILLS["passes"][PASSES[kind]].color, chunk)


def _darker(color: str, chunk: int) -> str:
    """The color for a rank's stage of this number: as dark as can be told from a dark page, after the first."""
    dark = next(
        shade
        for keep in range(60, 101)
        if luminance(shade := to_hex([keep / 100 * part for part in to_rgb(color)])) > _DARK
    )
    return dark if chunk else color


def _keys(timelines: Iterable[PipelineTimeline]) -> list[Key]:
    """One entry for each kind of operation that occurs; where ranks have several stages, what dark and light mean."""
    timelines = list(timelines)
    kinds = {timed.operation.kind for timeline in timelines for rank in timeline.ranks for timed in rank}
    keys = [Key(name, pass_color(kind)) for kind, name in PASSES.items() if kind in kinds]
    chunks = max(timeline.schedule.stages // timeline.schedule.world_size for timeline in timelines)
    shades = ["first stage", "second, lower" if chunks == 2 else "later ones, lower"] if chunks > 1 else []
    return keys + [Key(name, _darker(_ANY, chunk)) for chunk, name in enumerate(shades)]


def describe_schedule(timeline: PipelineTimeline, name: str, in_units: bool = False) -> str:
    """A schedule in words."""
    seconds = timeline.makespan_s
    length = f"{seconds:g} units" if in_units else format_seconds(seconds)
    many = [format_count(timeline.schedule.world_size, "rank"), _micro_batches(timeline.schedule.micro_batches)]
    held = format_held(timeline)
    return f"{name}: {', '.join(many)}, {length}, {timeline.idle:.0%} idle; at most {held} held on a rank."


def format_held(timeline: PipelineTimeline) -> str:
    """The most that a rank holds, in micro-batches of all its stages together: with two stages a rank in halves.

    >>> from course_lib.pipeline import OperationTimes, pipeline_timeline, v_min
    >>> format_held(pipeline_timeline(v_min(4, 8), OperationTimes()))
    '2.5 micro-batches'
    """
    return _micro_batches(most_held(timeline))


def most_held(timeline: PipelineTimeline) -> float:
    """The most that a rank holds, as a number of micro-batches."""
    return max(timeline.peak_in_flight) * timeline.schedule.world_size / timeline.schedule.stages


def _micro_batches(count: float) -> str:
    if count == int(count):
        return format_count(int(count), "micro-batch", "micro-batches")
    return f"{count:g} micro-batches"


def draw_idle_shares(
    shares: Mapping[str, tuple[float, float]], *, goal: float = 1 / 6, room: float = 8, title: str = ""
) -> Picture:
    """A bar for each schedule: its idle share, its name with the micro-batches that a rank holds, and the goal.

    Green reaches the goal, blue idles longer, and gray holds more than there is room for. The axis always goes to
    100%, so that pictures with more bars can be compared.

    Args:
        shares: name -> (idle share, micro-batches held at most).

    Raises:
        ValueError: if there is none.

    >>> draw_idle_shares({"1F1B": (0.2431, 8), "ZB-H1": (0.1586, 8)}).alt
    'Idle share, goal 16.7%, room for 8: 1F1B (holds 8) 24.3%; ZB-H1 (holds 8) 15.9%. (computed)'
    """
    colors, bars = {}, {}
    for name, (idle, held) in shares.items():
        label = f"{name} (holds {held:g})"
        bars[label] = idle
        colors[label] = "quiet" if held > room else goal_color(idle <= goal)
    panel = goal_bars(
        bars,
        "an idle share",
        along=axis("idle share of the step", [0], "%", high=1.0),
        limit=(f"goal: {goal:.1%}", goal),
        colors=colors,
        show=lambda idle: f"{idle:.1%}",
        title=title or "Idle share",
        origin="computed",
    )
    words = "; ".join(f"{label} {idle:.1%}" for label, idle in bars.items())
    return picture_of([panel], alt=f"Idle share, goal {goal:.1%}, room for {room:g}: {words}.")
