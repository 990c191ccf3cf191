"""What the pipeline explorer computes: a schedule, when its operations happen, and what is wrong with it."""

from __future__ import annotations

import functools
from typing import NamedTuple

from course_lib.pipeline import SCHEDULES, OperationTimes, PipelineTimeline, Schedule, pipeline_timeline

__all__ = ["BATCHES", "PipelineSetting", "bubble_curve", "schedule_of", "timeline_of"]

TWO_STAGES = ("interleaved", "V-Min", "V-Half", "ZB-V")  # a rank
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32)


class PipelineSetting(NamedTuple):
    """All that the controls say; a schedule of one's own has its own numbers of ranks and micro-batches."""

    schedule: str | Schedule
    ranks: int
    micro_batches: int
    forward_s: float
    input_s: float
    weight_s: float
    transfer_s: float

    @property
    def times(self) -> OperationTimes:
        """Of one stage; two stages a rank take half of it each."""
        chunks = 2 if self.schedule in TWO_STAGES else 1
        return OperationTimes(
            self.forward_s / chunks, self.input_s / chunks, self.weight_s / chunks, transfer_s=self.transfer_s
        )


def schedule_of(setting: PipelineSetting) -> Schedule:
    """The schedule; interleaved takes the next number of micro-batches that the ranks divide."""
    if isinstance(setting.schedule, Schedule):
        return setting.schedule
    count = setting.micro_batches
    if setting.schedule == "interleaved":
        count = -(-count // setting.ranks) * setting.ranks
    return SCHEDULES[setting.schedule](setting.ranks, count)


@functools.lru_cache(maxsize=256)
def timeline_of(setting: PipelineSetting) -> PipelineTimeline:
    """When everything happens.

    Raises:
        ScheduleError: if the schedule cannot be carried out.
    """
    return pipeline_timeline(schedule_of(setting), setting.times)


@functools.lru_cache(maxsize=64)
def bubble_curve(setting: PipelineSetting) -> dict[int, float]:
    """The idle share by the number of micro-batches; the setting's own number does not matter."""
    counts: tuple[int, ...] = BATCHES
    if setting.schedule == "interleaved":
        counts = tuple(range(setting.ranks, 33, setting.ranks))
    return {count: timeline_of(setting._replace(micro_batches=count)).bubble for count in counts}
