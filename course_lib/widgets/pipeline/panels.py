"""The pictures of the pipeline explorer: the timeline, the idle share by micro-batches, and what each rank holds."""

from __future__ import annotations

from course_lib.draw.panels import Bars, Line, Lines, Table, Timeline, axis
from course_lib.draw.pipeline import format_held, most_held, pass_color, schedule_panel
from course_lib.draw.units import format_count, format_seconds
from course_lib.pipeline import PipelineTimeline, Schedule, ScheduleError, textbook_bubble
from course_lib.widgets.pipeline.model import (
    BATCHES,
    Moment,
    PipelineSetting,
    bubble_curve,
    held_of,
    moment_of,
    moments_of,
    schedule_of,
    timeline_of,
)

__all__ = ["describe_moment", "describe_pipeline", "pictures"]

_MAX_RANKS = 8  # in a sentence
_HELD = {"for B": pass_color("B"), "for W": pass_color("W"), "free": "quiet"}


def pictures(setting: PipelineSetting) -> list[str | Table | Timeline | Lines | Bars]:
    """All that is shown of a setting; of a schedule that cannot be carried out, the reason."""
    try:
        timeline = timeline_of(setting)
    except ScheduleError as error:
        return [f"This schedule cannot be carried out. {error}."]
    moments = moments_of(timeline)
    step = min(setting.step, len(moments))
    now = moment_of(timeline, moments[step - 1]) if step else None
    shown: list[str | Table | Timeline | Lines | Bars] = [describe_pipeline(timeline)]
    shown += [f"Moment {step} of {len(moments)}: {describe_moment(timeline, now)}"] if now is not None else []
    shown += [_facts(setting, timeline), _timeline(timeline, now), _held(timeline, now)]
    return shown if isinstance(setting.schedule, Schedule) else [*shown, _bubbles(setting)]


def describe_pipeline(timeline: PipelineTimeline) -> str:
    """The schedule in words: how long, how idle, how full."""
    schedule = timeline.schedule
    batches = format_count(schedule.micro_batches, "micro-batch", "micro-batches")
    return (
        f"{schedule.name}: {batches} through {format_count(schedule.stages, 'stage')} in "
        f"{format_seconds(timeline.makespan_s)}; {timeline.idle:.1%} of it idle, at most {format_held(timeline)} held."
    )


def describe_moment(timeline: PipelineTimeline, now: Moment) -> str:
    """What runs at a moment, and what is stored."""
    doing = [
        f"rank {rank} {done.operation.kind}{done.operation.micro_batch}" if done else f"rank {rank} idle"
        for rank, done in enumerate(now.running)
    ]
    held = ", ".join(f"{held:g}" for held in now.held[:_MAX_RANKS]) + (", …" if len(now.held) > _MAX_RANKS else "")
    waiting = sum(now.for_weights)
    weights = f" ({waiting:g} of them for W alone)" if timeline.schedule.splits_backward else ""
    more = ", …" if len(doing) > _MAX_RANKS else ""
    return f"at {format_seconds(now.time_s)} {', '.join(doing[:_MAX_RANKS])}{more}. Held now: {held}{weights}."


def _facts(setting: PipelineSetting, timeline: PipelineTimeline) -> Table:
    schedule = timeline.schedule
    facts = {
        "one step": format_seconds(timeline.makespan_s),
        "idle": f"{timeline.idle:.1%}",
        "idle by the formula": f"{textbook_bubble(schedule.world_size, schedule.micro_batches):.1%}",
        "most micro-batches held": f"{most_held(timeline):g}",
        "micro-batches": f"{schedule.micro_batches}",
    }
    return Table(facts, "computed")


def _timeline(timeline: PipelineTimeline, now: Moment | None) -> Timeline:
    return schedule_panel(
        timeline,
        title=timeline.schedule.name,
        origin="computed",
        label=describe_pipeline(timeline) if now is None else describe_moment(timeline, now),
        now=() if now is None else now.running,
    )


def _held(timeline: PipelineTimeline, now: Moment | None) -> Bars:
    """The most that each rank holds; at a moment, how much of it is in use, and what for."""
    peaks = held_of(timeline)
    if now is not None:
        return _held_now(timeline, now, peaks)
    return Bars(
        title="Activations: most micro-batches held",
        origin="computed",
        label="; ".join(f"rank {rank}: {peak:g}" for rank, peak in enumerate(peaks)),
        bars={f"rank {rank}": {"activations": peak} for rank, peak in enumerate(peaks)},
        axis=axis("micro-batches", peaks),
        show=lambda count: f"{count:g}",
    )


def _held_now(timeline: PipelineTimeline, now: Moment, peaks: list[float]) -> Bars:
    parts = zip(now.for_backward, now.for_weights, peaks, strict=True)
    bars = {f"rank {rank}": {"for B": b, "for W": w, "free": peak - b - w} for rank, (b, w, peak) in enumerate(parts)}
    if not timeline.schedule.splits_backward:
        bars = {name: {part: count for part, count in bar.items() if part != "for W"} for name, bar in bars.items()}
    return Bars(
        title="Activations: held now, and room for the most",
        origin="computed",
        label="; ".join(f"rank {rank}: {held:g} of {peaks[rank]:g}" for rank, held in enumerate(now.held)),
        bars=bars,
        axis=axis("micro-batches", peaks),
        colors=_HELD,
    )


def _bubbles(setting: PipelineSetting) -> Lines:
    name, curve = str(setting.schedule), bubble_curve(setting._replace(micro_batches=1))
    textbook = [textbook_bubble(setting.ranks, count) for count in BATCHES]
    lines = {name: Line(list(curve), list(curve.values())), "by the formula": Line(BATCHES, textbook)}
    count = schedule_of(setting).micro_batches
    return Lines(
        title="Idle share by micro-batches",
        origin="computed",
        label=f"here: {timeline_of(setting).idle:.1%} with {format_count(count, 'micro-batch', 'micro-batches')}",
        lines=lines,
        x=axis("micro-batches", [1, 32], low=1),
        y=axis("idle", [0], "%", high=1.0),
        here=(count, timeline_of(setting).idle) if count <= 32 else None,
    )
