"""Schedules in the shape of a V: the second half of the stages goes back over the ranks, so rank 0 has the last one.

A micro-batch's passes are a path: F down the ranks and up again, then B down and up. Where on its path it is at which
tick is a *block*; the schedule repeats the block every six ticks, one for each F, B and W of a rank's two stages. How
long a rank holds activations stands in the block, so the block decides the memory. Weight gradients fill what is left.

Source: P. Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, sections 3 and 4; ZB-V: P. Qi
et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, section 6. How W and early passes are placed is ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate

from course_lib.pipeline.schedule import Operation, Schedule, inputs_of

__all__ = ["PERIOD", "block_ticks", "filled_v", "v_half", "v_min", "zero_bubble_v"]

PERIOD = 6  # ticks from one micro-batch to the next: F, B and W of two stages


def block_ticks(world_size: int, legs: Sequence[int], turns: Sequence[int]) -> dict[tuple[str, int], int]:
    """When each pass of micro-batch 0 is due.

    Args:
        legs: ticks from rank to rank, on the four legs of the path: F down, F up, B down, B up.
        turns: ticks between two passes on one rank, at the path's three turns.

    >>> block_ticks(2, (1, 1, 1, 1), (1, 1, 1))
    {('F', 0): 0, ('F', 1): 1, ('F', 2): 2, ('F', 3): 3, ('B', 3): 4, ('B', 2): 5, ('B', 1): 6, ('B', 0): 7}
    """
    stages = range(2 * world_size)
    path = [("F", stage) for stage in stages] + [("B", stage) for stage in reversed(stages)]
    gaps = [gap for leg, turn in zip(legs, (*turns, 0), strict=True) for gap in [leg] * (world_size - 1) + [turn]]
    return dict(zip(path, accumulate([0, *gaps[:-1]]), strict=True))


class _Rank:
    """What a rank has done, and what it can do next: one pass in each tick."""

    def __init__(self, ticks: dict[tuple[str, int], int], micro_batches: int, max_held: int, spare: int) -> None:
        self.ticks, self.micro_batches = ticks, micro_batches
        self.max_held, self.spare = max_held, spare
        self.begun = dict.fromkeys(ticks, 0)  # how many micro-batches of each pass
        self.done: list[Operation] = []
        self.weights: deque[Operation] = deque()
        self.held = 0

    def choose(self, finished: set[Operation], world_size: int) -> Operation | None:
        """The first pass in the block's order that can be done; before its turn only where no W waits.

        An F on the way down that is before its turn leaves `spare` places free: the way up needs them.
        """
        left = (each for each, number in self.begun.items() if number < self.micro_batches)
        in_order = sorted(left, key=lambda each: self.ticks[each] + PERIOD * self.begun[each])
        for place, (kind, stage) in enumerate(in_order):
            if place and self.weights:
                break
            early_down = place > 0 and kind == "F" and stage < world_size
            room = self.max_held - self.held - (self.spare if early_down else 0)
            operation = Operation(kind, stage, self.begun[kind, stage])
            if (kind == "B" or room > 0) and finished.issuperset(inputs_of(operation, 2 * world_size)):
                return operation
        return self.weights[0] if self.weights else None

    def do(self, operation: Operation) -> None:
        """Note it, and what it changes."""
        kind, stage, number = operation
        self.done.append(operation)
        self.held += (kind == "F") - (kind == "W")
        if kind == "W":
            self.weights.popleft()
        else:
            self.begun[kind, stage] += 1
        if kind == "B":
            self.weights.append(Operation("W", stage, number))


def filled_v(
    name: str, ticks: dict[tuple[str, int], int], micro_batches: int, max_held: int, spare: int = 2
) -> Schedule:
    """The schedule that repeats a block, with each W where its rank has nothing else to do or holds `max_held`.

    Args:
        ticks: from `block_ticks`, for two stages a rank.
        max_held: passes through a stage, each half a micro-batch of a rank.
        spare: places that an early F leaves free.

    Raises:
        ValueError: unless there is a micro-batch, or if so few may be held that nobody can go on.
    """
    if micro_batches < 1:
        raise ValueError(f"there must be a micro-batch, got {micro_batches}")
    world_size = len(ticks) // 4
    sides = [(rank, 2 * world_size - 1 - rank) for rank in range(world_size)]
    own = [{each: tick for each, tick in ticks.items() if each[1] in stages} for stages in sides]
    ranks = [_Rank(each, micro_batches, max_held, spare) for each in own]
    finished: set[Operation] = set()
    while len(finished) < 3 * len(sides) * 2 * micro_batches:
        chosen = [rank.choose(finished, world_size) for rank in ranks]
        if not any(chosen):
            raise ValueError(f"{max_held} held at most is too few for {world_size} ranks")
        for rank, operation in zip(ranks, chosen, strict=True):
            if operation is not None:
                rank.do(operation)
                finished.add(operation)
    return Schedule(name, 2 * world_size, micro_batches, tuple(tuple(rank.done) for rank in ranks), v_shaped=True)


def _checked(world_size: int) -> int:
    if world_size < 1:
        raise ValueError(f"there must be a rank, got {world_size}")
    return world_size


def zero_bubble_v(world_size: int, micro_batches: int) -> Schedule:
    """ZB-V: no bubble where F, B and W are alike and there are 2 * ranks - 1 micro-batches or more; 1F1B's memory.

    Raises:
        ValueError: unless there are ranks and micro-batches.

    >>> [f"{kind}{number}" for kind, stage, number in zero_bubble_v(1, 1).ranks[0]]
    ['F0', 'F0', 'B0', 'B0', 'W0', 'W0']
    """
    ticks = block_ticks(_checked(world_size), legs=(3, 3, 3, 3), turns=(1, 1, 1))
    return filled_v("ZB-V", ticks, micro_batches, 2 * world_size, spare=1)


def v_half(world_size: int, micro_batches: int) -> Schedule:
    """V-Half: half of 1F1B's bubble and, with many ranks, half of its memory: (ranks + 2) / 2 micro-batches.

    Raises:
        ValueError: unless there are ranks and micro-batches.
    """
    ticks = block_ticks(_checked(world_size), legs=(1, 2, 1, 2), turns=(1, 3, 1))
    return filled_v("V-Half", ticks, micro_batches, world_size + 2)


def v_min(world_size: int, micro_batches: int) -> Schedule:
    """V-Min: the least that a V can hold, (ranks + 4) / 3 micro-batches, rounded down to halves.

    Raises:
        ValueError: unless there are ranks and micro-batches.
    """
    # Two passes of a rank must not fall on one tick of the period; with a multiple of 3 ranks a longer turn parts them.
    turns = (1, 1, 1) if _checked(world_size) % 3 else (1, 3, 1)
    return filled_v("V-Min", block_ticks(world_size, (1, 1, 1, 1), turns), micro_batches, 2 * (world_size + 4) // 3)
