"""The pipeline explorer: stages, micro-batches, a schedule and its times; or a schedule of one's own."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from course_lib.draw.chapters.pipeline import format_held, most_held, pass_color, schedule_panel
from course_lib.draw.panels import Bars, Line, Lines, Table, Timeline, axis
from course_lib.draw.style import every
from course_lib.draw.units import format_count, format_seconds
from course_lib.pipeline import (
    SCHEDULES,
    OperationTimes,
    PipelineTimeline,
    Schedule,
    ScheduleError,
    Timed,
    pipeline_timeline,
    textbook_bubble,
)
from course_lib.widgets.controls import menu, number, scale, step_slider
from course_lib.widgets.settings import EVERY, SteppedExplorer, control, control_of

_SAME_S = 1e-9  # what is no further apart begins at once
_MAX_MOMENTS = 40
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32)


_MILLISECONDS = [0.0, 0.6, 1.0, 2.0, 3.0, 5.0, 9.3, 10.0, 15.0, 18.1, 18.5, 20.0, 30.0]


def _milliseconds(value: float) -> str:
    return f"{value:g} ms"


def _schedules(own: Schedule | None) -> dict[str, str | Schedule]:
    """The menu of schedules: the library's by their names, and your own."""
    return {**{name: name for name in SCHEDULES}, **({} if own is None else {"your own": own})}


@dataclass(frozen=True)
class PipelineSetting:
    """All that the controls say; step 0 is all of the time, the others are moments. A schedule of one's own has its own
    numbers of ranks and micro-batches."""

    schedule: str | Schedule = control_of(  # noqa: RUF009
        "1F1B", lambda s, value: menu("schedule", _schedules(s.own), value), book=EVERY
    )
    ranks: int = control(8, number, "ranks", 1, 12)
    micro_batches: int = control(24, number, "micro-batches", 1, 32, book=[8, 24])
    forward_ms: float = control(18.5, scale, "forward", _MILLISECONDS[1:], show=_milliseconds)
    input_ms: float = control(18.1, scale, "input gradient", _MILLISECONDS[1:], show=_milliseconds)
    weight_ms: float = control(9.3, scale, "weight gradient", _MILLISECONDS[1:], show=_milliseconds)
    transfer_ms: float = control(0.6, scale, "transfer", _MILLISECONDS, show=_milliseconds, book=[0.0, 0.6, 2.0, 10.0])
    step: int = control(0, step_slider, "step")
    own: Schedule | None = None

    @property
    def times(self) -> OperationTimes:
        """Of a rank's part of the model: two stages a rank take half of it each, those of one's own schedule all."""
        return OperationTimes(
            1e-3 * self.forward_ms, 1e-3 * self.input_ms, 1e-3 * self.weight_ms, transfer_s=1e-3 * self.transfer_ms
        )


def schedule_of(setting: PipelineSetting) -> Schedule:
    """The schedule; interleaved takes the next number of micro-batches that the ranks divide."""
    if isinstance(setting.schedule, Schedule):
        return setting.schedule
    count = setting.micro_batches
    if setting.schedule == "interleaved":
        count = -(-count // setting.ranks) * setting.ranks
    return SCHEDULES[setting.schedule](setting.ranks, count)


def stages_a_rank(schedule: Schedule) -> int:
    """How many stages each rank has."""
    return schedule.stages // schedule.world_size


def held_of(timeline: PipelineTimeline) -> list[float]:
    """For each rank, the most micro-batches that it holds; of two stages a rank, each holds half of one."""
    return [peak / stages_a_rank(timeline.schedule) for peak in timeline.peak_in_flight]


class Moment(NamedTuple):
    """A moment of a timeline.

    Attributes:
        running: by rank, what it does, or None where it is idle.
        for_backward, for_weights: by rank, the micro-batches whose activations wait for their backward pass, or for
            their weight gradients alone. Of two stages a rank, each holds half of a micro-batch.
    """

    time_s: float
    running: list[Timed | None]
    for_backward: list[float]
    for_weights: list[float]

    @property
    def held(self) -> list[float]:
        """All activations of each rank."""
        return [b + w for b, w in zip(self.for_backward, self.for_weights, strict=True)]


def timeline_of(setting: PipelineSetting) -> PipelineTimeline:
    """When everything happens; the setting's own step does not matter.

    Raises:
        ScheduleError: if the schedule cannot be carried out.
    """
    return _timeline(replace(setting, step=0))


@functools.lru_cache(maxsize=256)
def _timeline(setting: PipelineSetting) -> PipelineTimeline:
    schedule = schedule_of(setting)
    own = isinstance(setting.schedule, Schedule)
    stages = 1 if own else stages_a_rank(schedule)
    return pipeline_timeline(schedule, setting.times.shared_by(stages))


@functools.lru_cache(maxsize=64)
def bubble_curve(setting: PipelineSetting) -> dict[int, float]:
    """The idle share by the number of micro-batches; the setting's own number does not matter."""
    counts: tuple[int, ...] = BATCHES
    if setting.schedule == "interleaved":
        counts = tuple(range(setting.ranks, 33, setting.ranks))
    return {count: timeline_of(replace(setting, micro_batches=count)).idle for count in counts}


@functools.lru_cache(maxsize=64)
def moments_of(timeline: PipelineTimeline) -> list[float]:
    """When something begins; every second, third, ... of these where there are more than 40."""
    begins: list[float] = []
    for start_s in sorted(timed.start_s for rank in timeline.ranks for timed in rank):
        if not begins or start_s > begins[-1] + _SAME_S:
            begins.append(start_s)
    return [begins[number] for number in every(len(begins), _MAX_MOMENTS)]


def moment_of(timeline: PipelineTimeline, time_s: float) -> Moment:
    """What runs at a time, and what is stored."""
    now_s = time_s + _SAME_S
    begun = [[timed for timed in rank if timed.start_s <= now_s] for rank in timeline.ranks]
    ended = [[timed.operation.kind for timed in rank if timed.end_s <= now_s] for rank in timeline.ranks]
    forward = [sum(timed.operation.kind == "F" for timed in rank) for rank in begun]
    backward, weights = ([kinds.count(kind) for kinds in ended] for kind in "BW")
    splits = timeline.schedule.splits_backward
    stages = stages_a_rank(timeline.schedule)
    return Moment(
        time_s=time_s,
        running=[rank[-1] if rank and rank[-1].end_s > now_s else None for rank in begun],
        for_backward=[(f - b) / stages for f, b in zip(forward, backward, strict=True)],
        for_weights=[(b - w) / stages if splits else 0 for b, w in zip(backward, weights, strict=True)],
    )


# The pictures of the pipeline explorer: the timeline, the idle share by micro-batches, and what each rank holds.

_MAX_RANKS = 8  # in a sentence
_HELD = {"for B": pass_color("B"), "for W": pass_color("W"), "free": "quiet"}


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


def _timeline_panel(timeline: PipelineTimeline, now: Moment | None) -> Timeline:
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
    name, curve = str(setting.schedule), bubble_curve(replace(setting, micro_batches=1))
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


class PipelineExplorer(SteppedExplorer):
    """A pipeline's schedule to take apart and to play: timeline, idle share, activations held; a schedule of one's own
    is checked. At first it is the lecture's pipeline: 8 ranks, 24 micro-batches, the times published by Qi et al.

    Everything is computed by `pipeline_timeline`; what comes from another rank travels and keeps nobody busy.

    Args:
        own: a schedule of your own; it stands in the menu as "your own".
    """

    Setting = PipelineSetting
    no_steps = "this schedule cannot be carried out"

    def __init__(self, own: Schedule | None = None, **asked: Any) -> None:
        if own is not None:
            if not isinstance(own, Schedule):
                raise TypeError(f"own must be a Schedule, got a {type(own).__name__}")
            asked["schedule"] = own
        super().__init__(own=own, **asked)

    @staticmethod
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
        shown += [_facts(setting, timeline), _timeline_panel(timeline, now), _held(timeline, now)]
        return shown if isinstance(setting.schedule, Schedule) else [*shown, _bubbles(setting)]

    def steps(self, setting: PipelineSetting) -> int:
        """Moments in which something begins."""
        try:
            return len(moments_of(timeline_of(setting)))
        except ScheduleError:
            return 0
