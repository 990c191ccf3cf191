"""What the pipeline explorer computes: a schedule, when its operations happen, and what is wrong with it."""

from __future__ import annotations

import functools
from typing import NamedTuple

from course_lib.draw.style import every
from course_lib.pipeline import SCHEDULES, OperationTimes, PipelineTimeline, Schedule, Timed, pipeline_timeline

__all__ = [
    "BATCHES",
    "Moment",
    "PipelineSetting",
    "bubble_curve",
    "held_of",
    "moment_of",
    "moments_of",
    "schedule_of",
    "stages_a_rank",
    "timeline_of",
]

_SAME_S = 1e-9  # what is no further apart begins at once
_MAX_MOMENTS = 40
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32)


class PipelineSetting(NamedTuple):
    """All that the controls say; step 0 is all of the time, the others are moments. A schedule of one's own has its own
    numbers of ranks and micro-batches."""

    schedule: str | Schedule
    ranks: int
    micro_batches: int
    forward_s: float
    input_s: float
    weight_s: float
    transfer_s: float
    step: int = 0

    @property
    def times(self) -> OperationTimes:
        """Of a rank's part of the model: two stages a rank take half of it each, those of one's own schedule all."""
        return OperationTimes(self.forward_s, self.input_s, self.weight_s, transfer_s=self.transfer_s)


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
    return _timeline(setting._replace(step=0))


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
    return {count: timeline_of(setting._replace(micro_batches=count)).idle for count in counts}


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
