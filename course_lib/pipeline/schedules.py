"""Pipeline schedules of the literature, pure functions of stages and micro-batches; the best for a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import product

from course_lib.pipeline.schedule import Operation, Schedule, peak_in_flight
from course_lib.pipeline.timing import OperationTimes, PipelineTimeline, pipeline_timeline
from course_lib.pipeline.v_shaped import block_ticks, dual_pipe_v, filled_v, v_half, v_min, zero_bubble_v


def _for_each_rank(
    name: str, stages: int, micro_batches: int, order: Callable[[int], Iterator[tuple[str, int]]]
) -> Schedule:
    """A schedule with a stage a rank; `order(rank)` yields the rank's passes and micro-batches.

    Raises:
        ValueError: unless there is a stage and a micro-batch.
    """
    if stages < 1 or micro_batches < 1:
        raise ValueError(f"there must be a stage and a micro-batch, got {stages} and {micro_batches}")
    ranks = (tuple(Operation(kind, rank, number) for kind, number in order(rank)) for rank in range(stages))
    return Schedule(name, stages, micro_batches, tuple(ranks))


def one_at_a_time(stages: int, micro_batches: int) -> Schedule:
    """Naive model parallelism: a micro-batch goes all the way forward and back before the next one begins.

    >>> [f"{kind}{number}" for kind, _, number in one_at_a_time(2, 2).ranks[0]]
    ['F0', 'B0', 'F1', 'B1']
    """

    def order(rank: int) -> Iterator[tuple[str, int]]:
        for number in range(micro_batches):
            yield "F", number
            yield "B", number

    return _for_each_rank("one at a time", stages, micro_batches, order)


def gpipe(stages: int, micro_batches: int) -> Schedule:
    """All forward passes, then all backward passes, the last micro-batch first.

    Source: Huang et al., "GPipe", arXiv 1811.06965, figure 2c.

    >>> [f"{kind}{number}" for kind, _, number in gpipe(2, 2).ranks[0]]
    ['F0', 'F1', 'B1', 'B0']
    """

    def order(rank: int) -> Iterator[tuple[str, int]]:
        yield from (("F", number) for number in range(micro_batches))
        yield from (("B", number) for number in reversed(range(micro_batches)))

    return _for_each_rank("GPipe", stages, micro_batches, order)


def alternating(warm_up: int, micro_batches: int) -> Iterator[tuple[str, int]]:
    """Yield `warm_up` forward passes, then one backward and one forward in turn, then the backward passes left.

    >>> " ".join(f"{kind}{number}" for kind, number in alternating(2, 3))
    'F0 F1 B0 F2 B1 B2'
    """
    yield from (("F", number) for number in range(min(warm_up, micro_batches)))
    for number in range(micro_batches):
        yield "B", number
        if number + warm_up < micro_batches:
            yield "F", number + warm_up


def one_forward_one_backward(stages: int, micro_batches: int) -> Schedule:
    """1F1B: as many forward passes as there are stages from here on, then one backward and one forward in turn.

    Source: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", arXiv 2006.09503, section 3.2
    (PipeDream-Flush).

    >>> [f"{kind}{number}" for kind, _, number in one_forward_one_backward(2, 3).ranks[0]]
    ['F0', 'F1', 'B0', 'F2', 'B1', 'B2']
    """
    return _for_each_rank("1F1B", stages, micro_batches, lambda rank: alternating(stages - rank, micro_batches))


def interleaved(world_size: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """1F1B with `chunks` stages a rank, dealt out in rounds: the pipe is as long, the steps are shorter.

    Micro-batches go in groups of `world_size`: a group passes a rank's first stage, then its second, and so on.

    Raises:
        ValueError: unless there are ranks, which divide the micro-batches, of which there are some.

    Source: Narayanan et al., "Efficient large-scale language model training on GPU clusters", arXiv 2104.04473,
    section 2.2.
    """
    if min(chunks, world_size, micro_batches) < 1 or micro_batches % world_size:
        raise ValueError(f"{world_size} ranks must divide the micro-batches, got {micro_batches} ({chunks} chunks)")
    passes = micro_batches * chunks

    def operation(kind: str, rank: int, number: int) -> Operation:
        group, within = divmod(number, world_size * chunks)
        chunk, place = divmod(within, world_size)
        chunk = chunk if kind == "F" else chunks - 1 - chunk
        return Operation(kind, chunk * world_size + rank, group * world_size + place)

    def order(rank: int) -> Iterator[Operation]:
        behind = world_size - rank - 1  # ranks that a micro-batch has still to pass
        warm_up = 1 + (behind if chunks == 1 else 2 * behind + (chunks - 1) * world_size)
        for kind, number in alternating(warm_up, passes):
            yield operation(kind, rank, number)

    ranks = tuple(tuple(order(rank)) for rank in range(world_size))
    return Schedule(f"interleaved, {chunks} chunks", world_size * chunks, micro_batches, ranks)


def breadth_first(world_size: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """GPipe with `chunks` stages a rank, dealt out in rounds: all micro-batches pass one of them, then the next one.

    A rank goes from stage to stage as seldom as can be: where weights are sharded, it gathers them once a pass.

    Raises:
        ValueError: unless there are ranks, micro-batches and chunks.

    Source: J. Lamy-Poirier, "Breadth-first pipeline parallelism", MLSys 2023, arXiv 2211.05953.

    >>> [f"{kind}{number} of {stage}" for kind, stage, number in breadth_first(1, 2).ranks[0][:5]]
    ['F0 of 0', 'F1 of 0', 'F0 of 1', 'F1 of 1', 'B0 of 1']
    """
    if min(chunks, world_size, micro_batches) < 1:
        raise ValueError(f"there must be ranks, micro-batches, chunks: {world_size}, {micro_batches}, {chunks}")
    ranks = []
    for rank in range(world_size):
        stages, numbers = range(rank, world_size * chunks, world_size), range(micro_batches)
        operations = [Operation("F", stage, number) for stage in stages for number in numbers]
        operations += [Operation("B", stage, number) for stage in reversed(stages) for number in numbers]
        ranks.append(tuple(operations))
    return Schedule(f"breadth-first, {chunks} chunks", world_size * chunks, micro_batches, tuple(ranks))


def _with_weights(passes: Iterator[tuple[str, int]], delay: int, micro_batches: int) -> Iterator[tuple[str, int]]:
    """The same with every W behind the B that comes `delay` micro-batches later, and the last ones at the end."""
    for kind, number in passes:
        yield kind, number
        if kind == "B" and number >= delay:
            yield "W", number - delay
    yield from (("W", number) for number in range(max(0, micro_batches - delay), micro_batches))


def zero_bubble_h1(stages: int, micro_batches: int) -> Schedule:
    """ZB-H1: 1F1B whose weight gradients wait, on rank r for r micro-batches, and fill the end; 1F1B's memory.

    Source: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, section 2.1.
    """

    def order(rank: int) -> Iterator[tuple[str, int]]:
        return _with_weights(alternating(stages - rank, micro_batches), rank, micro_batches)

    return _for_each_rank("ZB-H1", stages, micro_batches, order)


def zero_bubble_h2(stages: int, micro_batches: int) -> Schedule:
    """ZB-H2: more forward passes fill the beginning, too, and weight gradients the end; twice 1F1B's memory.

    Source: Qi et al., arXiv 2401.10241, section 2.2.
    """

    def order(rank: int) -> Iterator[tuple[str, int]]:
        return _with_weights(alternating(2 * (stages - rank) - 1, micro_batches), 2 * rank, micro_batches)

    return _for_each_rank("ZB-H2", stages, micro_batches, order)


SCHEDULES: dict[str, Callable[[int, int], Schedule]] = {
    "one at a time": one_at_a_time,
    "GPipe": gpipe,
    "1F1B": one_forward_one_backward,
    "interleaved": interleaved,
    "breadth-first": breadth_first,
    "ZB-H1": zero_bubble_h1,
    "ZB-H2": zero_bubble_h2,
    "V-Min": v_min,
    "V-Half": v_half,
    "ZB-V": zero_bubble_v,
    "DualPipeV": dual_pipe_v,
}


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
