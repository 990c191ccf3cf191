"""The pictures of the pipeline explorer: the timeline, the idle share by micro-batches, and what each rank holds."""

from __future__ import annotations

from course_lib.draw.looks import FILLS
from course_lib.draw.units import format_count, format_seconds
from course_lib.pipeline import PipelineTimeline, Schedule, ScheduleError, peak_in_flight, textbook_bubble
from course_lib.widgets.panels import Bars, Lane, Line, Lines, Stretch, Table, Timeline, axis
from course_lib.widgets.pipeline.model import BATCHES, PipelineSetting, bubble_curve, schedule_of, timeline_of

__all__ = ["describe_pipeline", "pictures"]

_PASSES = {"F": "forward", "B": "backward", "W": "weight gradients"}
_MAX_BOXES = 700  # more numbers than that nobody reads


def pictures(setting: PipelineSetting) -> list[str | Table | Timeline | Lines | Bars]:
    """All that is shown of a setting; of a schedule that cannot be carried out, the reason."""
    try:
        timeline = timeline_of(setting)
    except ScheduleError as error:
        return [f"This schedule cannot be carried out. {error}."]
    shown: list[str | Table | Timeline | Lines | Bars]
    shown = [describe_pipeline(timeline), _facts(setting, timeline), _timeline(timeline), _held(timeline)]
    return shown if isinstance(setting.schedule, Schedule) else [*shown, _bubbles(setting)]


def describe_pipeline(timeline: PipelineTimeline) -> str:
    """The schedule in words: how long, how idle, how full."""
    schedule = timeline.schedule
    batches, held = (
        format_count(n, "micro-batch", "micro-batches") for n in (schedule.micro_batches, max(timeline.peak_in_flight))
    )
    return (
        f"{schedule.name}: {batches} through {format_count(schedule.stages, 'stage')} in "
        f"{format_seconds(timeline.makespan_s)}; {timeline.bubble:.1%} of it idle, at most {held} held."
    )


def _facts(setting: PipelineSetting, timeline: PipelineTimeline) -> Table:
    schedule = timeline.schedule
    facts = {
        "one step": format_seconds(timeline.makespan_s),
        "bubble": f"{timeline.bubble:.2%}",
        "textbook bubble": f"{textbook_bubble(schedule.world_size, schedule.micro_batches):.2%}",
        "most micro-batches held": f"{max(timeline.peak_in_flight)}",
        "micro-batches": f"{schedule.micro_batches}",
    }
    return Table(facts, "computed")


def _timeline(timeline: PipelineTimeline) -> Timeline:
    boxes = sum(map(len, timeline.ranks))
    lanes: dict[str, Lane] = {}
    for kind, name in _PASSES.items():
        stretches = [
            Stretch(rank, done.start_s, done.end_s, str(done.operation.micro_batch) if boxes <= _MAX_BOXES else "")
            for rank, operations in enumerate(timeline.ranks)
            for done in operations
            if done.operation.kind == kind
        ]
        if stretches:
            lanes[name] = Lane(FILLS["passes"][name].color, stretches)
    return Timeline(
        title=timeline.schedule.name,
        origin="computed",
        label=describe_pipeline(timeline),
        wide=True,
        rows=[f"rank {rank}" for rank in range(len(timeline.ranks))],
        lanes=lanes,
        seconds=timeline.makespan_s,
    )


def _held(timeline: PipelineTimeline) -> Bars:
    peaks = peak_in_flight(timeline.schedule)
    return Bars(
        title="Activations: most micro-batches held",
        origin="computed",
        label="; ".join(f"rank {rank}: {peak}" for rank, peak in enumerate(peaks)),
        bars={f"rank {rank}": {"activations": float(peak)} for rank, peak in enumerate(peaks)},
        axis=axis("micro-batches, counted for each stage", peaks),
        show=lambda count: f"{count:g}",
    )


def _bubbles(setting: PipelineSetting) -> Lines:
    name, curve = str(setting.schedule), bubble_curve(setting._replace(micro_batches=1))
    textbook = [textbook_bubble(setting.ranks, count) for count in BATCHES]
    lines = {name: Line(list(curve), list(curve.values())), "textbook": Line(BATCHES, textbook)}
    count = schedule_of(setting).micro_batches
    return Lines(
        title="Idle share by micro-batches",
        origin="computed",
        label=f"here: {timeline_of(setting).bubble:.1%} with {format_count(count, 'micro-batch', 'micro-batches')}",
        lines=lines,
        x=axis("micro-batches", [1, 32], low=1),
        y=axis("idle", [0], "%", high=1.0),
        here=(count, timeline_of(setting).bubble) if count <= 32 else None,
    )
