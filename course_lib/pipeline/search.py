"""A schedule for the memory that there is: of many, the one that idles least among those that fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product

from course_lib.pipeline.schedule import Schedule, peak_in_flight
from course_lib.pipeline.schedules import SCHEDULES
from course_lib.pipeline.timing import OperationTimes, PipelineTimeline, pipeline_timeline
from course_lib.pipeline.v_shaped import block_ticks, filled_v

__all__ = ["all_v", "idles_least", "known_schedules"]


def known_schedules(world_size: int, micro_batches: int) -> Iterator[Schedule]:
    """All of SCHEDULES that can be made for so many ranks and micro-batches."""
    for make in SCHEDULES.values():
        with suppress(ValueError):  # of interleaved, where the ranks do not divide the micro-batches
            yield make(world_size, micro_batches)


def all_v(world_size: int, micro_batches: int, max_held: float) -> Iterator[Schedule]:
    """162 V's, but those that cannot go on within `max_held`: legs of 1 to 3 ticks, and a turn of 1 or 3 in the middle.

    Args:
        max_held: how many micro-batches a rank may hold, counted in halves.

    Source of the idea: P. Qi et al., arXiv 2405.15362, section 4; their search goes through all blocks.
    """
    for legs, turn in product(product((1, 2, 3), repeat=4), (1, 3)):
        with suppress(ValueError):
            ticks = block_ticks(world_size, legs, (1, turn, 1))
            yield filled_v(f"V of {legs}", ticks, micro_batches, int(2 * max_held))


def idles_least(schedules: Iterable[Schedule], times: OperationTimes, max_held: float) -> PipelineTimeline:
    """The one of them that idles least, of those of which no rank holds more than `max_held` micro-batches.

    Args:
        times: of all of a rank's stages together.

    Raises:
        ValueError: if none of them fits.
    """
    fitting = []
    for schedule in schedules:
        stages = schedule.stages // schedule.world_size
        if max(peak_in_flight(schedule)) <= max_held * stages:
            fitting.append(pipeline_timeline(schedule, times.shared_by(stages)))
    if not fitting:
        raise ValueError(f"none of the schedules holds at most {max_held} micro-batches on each rank")
    return min(fitting, key=lambda timeline: timeline.idle)
