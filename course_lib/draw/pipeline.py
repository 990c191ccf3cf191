"""Schedules as pictures: a row a rank, a box an operation with its micro-batch's number, white where a rank idles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from course_lib.draw.style import FILLS, Picture, finish, ink_on, new_picture, put_title, styled
from course_lib.draw.units import format_count, format_seconds, time_unit
from course_lib.pipeline import PipelineTimeline

__all__ = [
    "PASSES",
    "describe_schedule",
    "draw_schedule",
    "draw_schedules",
    "pass_color",
    "schedule_legend",
    "schedule_on",
]

PASSES = {"F": "forward", "B": "backward", "W": "weight gradients"}  # the operations' kinds, and their names in FILLS
_ANY = "#777777"  # the color that stands for all in the legend
_MAX_RANKS = 16
_DIGIT_IN = 0.095  # width that one digit needs


@styled
def draw_schedule(
    timeline: PipelineTimeline, *, origin: str = "computed", in_units: bool = False, title: str = "", note: str = ""
) -> Picture:
    """One schedule over time, as the papers draw it.

    Args:
        timeline: from `pipeline_timeline` (computed) or `recorded_timeline` (of a run).
        in_units: count time in units, without a name, in place of seconds.
    """
    return _draw({title or timeline.schedule.name: timeline}, origin, in_units, "", note)


@styled
def draw_schedules(
    timelines: Mapping[str, PipelineTimeline],
    *,
    origin: str = "computed",
    in_units: bool = False,
    title: str = "",
    note: str = "",
) -> Picture:
    """Several of them under each other, by name, on one scale of time.

    Raises:
        ValueError: if there is none.
    """
    if not timelines:
        raise ValueError("there must be a schedule to draw, got none")
    return _draw(timelines, origin, in_units, title, note)


def _draw(timelines: Mapping[str, PipelineTimeline], origin: str, in_units: bool, title: str, note: str) -> Picture:
    """The picture: a panel a timeline, as high as it has ranks."""
    ranks = [min(len(timeline.ranks), _MAX_RANKS) for timeline in timelines.values()]
    heights = [0.35 + 0.27 * count for count in ranks]
    look = {"sharex": True, "squeeze": False, "height_ratios": heights}
    picture, grid = new_picture(7.7, 0.75 + sum(heights), len(timelines), 1, **look)
    longest_s = max(timeline.makespan_s for timeline in timelines.values())
    for axes, (name, timeline) in zip(grid[:, 0], timelines.items(), strict=True):
        schedule_on(axes, timeline, longest_s, in_units=in_units)
        axes.set_title(name, fontsize=10)
    grid[-1, 0].set_xlabel("time (units)" if in_units else f"time ({time_unit(longest_s)[1]})")
    legend = schedule_legend(timelines.values())
    picture.legend(handles=legend, loc="outside upper right", ncols=5, columnspacing=1.2, handlelength=1.2)
    put_title(picture, title)
    words = " ".join(describe_schedule(timeline, name, in_units) for name, timeline in timelines.items())
    return finish(picture, origin=origin, alt=words, note=note)


def schedule_on(axes: Axes, timeline: PipelineTimeline, longest_s: float, *, in_units: bool = False) -> None:
    """Draw one schedule on axes that end at `longest_s`; numbers stand where they have room."""
    scale = 1.0 if in_units else time_unit(longest_s)[0]
    rows = timeline.ranks[:_MAX_RANKS]
    room_s = longest_s * _DIGIT_IN / (axes.figure.get_figwidth() - 1.0)  # 1 inch is left of and right of the axes
    for row, operations in enumerate(rows):
        boxes = defaultdict(list)
        for (kind, stage, number), start_s, end_s in operations:
            color = pass_color(kind, stage // timeline.schedule.world_size)
            boxes[color].append((start_s / scale, (end_s - start_s) / scale))
            if end_s - start_s > room_s * len(str(number)):
                middle = (start_s + end_s) / 2 / scale
                axes.text(middle, row + 0.52, str(number), ha="center", va="center", fontsize=9, color=ink_on(color))
        for color, where in boxes.items():
            edges = ["white" if width * scale > room_s / 2 else color for _, width in where]
            axes.broken_barh(where, (row + 0.06, 0.88), facecolor=color, edgecolor=edges, linewidth=0.6)
    axes.set_ylim(len(rows), 0)
    axes.set_xlim(0, longest_s / scale * 1.002)
    axes.xaxis.set_major_locator(MaxNLocator(integer=in_units, steps=[1, 2, 5, 10]))
    axes.set_yticks([row + 0.5 for row in range(len(rows))], [f"rank {row}" for row in range(len(rows))])
    axes.tick_params(axis="y", length=0)


def pass_color(kind: str, chunk: int = 0) -> str:
    """The color of an operation; a rank's later stages are lighter than its first.

    >>> pass_color("F"), pass_color("F", chunk=1)
    ('#56b4e9', '#9ad2f2')
    """
    return _lighter(FILLS["passes"][PASSES[kind]].color, chunk)


def _lighter(color: str, chunk: int) -> str:
    """The color for a rank's stage of this number."""
    keep = 0.6**chunk
    return to_hex([1 - keep * (1 - part) for part in to_rgb(color)])


def schedule_legend(timelines: Iterable[PipelineTimeline]) -> list[Patch]:
    """One entry for each kind of operation that occurs; where ranks have several stages, what light and dark mean."""
    timelines = list(timelines)
    kinds = {timed.operation.kind for timeline in timelines for rank in timeline.ranks for timed in rank}
    legend = [Patch(facecolor=pass_color(kind), label=name) for kind, name in PASSES.items() if kind in kinds]
    chunks = max(timeline.schedule.stages // timeline.schedule.world_size for timeline in timelines)
    shades = ["first stage", "second" if chunks == 2 else "later ones"] if chunks > 1 else []
    return legend + [Patch(facecolor=_lighter(_ANY, chunk), label=name) for chunk, name in enumerate(shades)]


def describe_schedule(timeline: PipelineTimeline, name: str, in_units: bool = False) -> str:
    """A schedule in words."""
    seconds = timeline.makespan_s
    length = f"{seconds:g} units" if in_units else format_seconds(seconds)
    many = [format_count(timeline.schedule.world_size, "rank"), _micro_batches(timeline.schedule.micro_batches)]
    held = _micro_batches(max(timeline.peak_in_flight))
    return f"{name}: {', '.join(many)}, {length}, {timeline.bubble:.0%} idle; at most {held} held on a rank."


def _micro_batches(count: int) -> str:
    return format_count(count, "micro-batch", "micro-batches")
