"""V-shaped schedules: the second half of the stages goes back over the ranks, so rank 0 has the last one.

A micro-batch's passes are a path: F down the ranks and up again, then B down and up. Where on its path it is at which
tick is a *block*; the schedule repeats the block every six ticks, one for each F, B and W of a rank's two stages. How
long a rank holds activations stands in the block, so the block decides the memory. Weight gradients fill what is left.

Source: P. Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, sections 3 and 4; ZB-V: P. Qi
et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, section 6. How W and early passes are placed is ours.

DualPipeV and DualPipe do a forward and a backward pass in one call, so that what one of them sends hides behind the
other's computing. DualPipe feeds the pipe from both ends, through two copies of the weights. Folded in its middle it
is DualPipeV: a V on
half of the ranks, with one copy.

Source: deepseek-ai/DualPipe on GitHub; DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, section 3.2.1.
Folding it: P. Qi, X. Wan, G. Huang and M. Lin, "DualPipe could be better without the Dual", 2025.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import accumulate

from course_lib.pipeline.schedule import Operation, Schedule, inputs_of

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


def _calls(rank: int, world_size: int, micro_batches: int) -> list[str]:
    """What a rank calls: F0 is forward in its first stage, B1 backward in its second, both with & one call; b1 leaves
    the weights for later, and W does those that have waited longest."""
    behind, own = world_size - 1 - rank, rank + 1
    both = ["F0&B1", "F1&B0"] * (micro_batches - 2 * world_size + own)
    if not behind:
        both[:1] = ["F0", "B1"]  # one after the other, so that what F gives leaves earlier
    return (
        ["F0"] * 2 * behind
        + ["F0", "F1"] * own
        + ["b1", "W", "F1"] * behind
        + both
        + ["B1", "F1&B0"] * behind
        + (["B1", "B0"] * own)[:own]
        + (["b1", "b0"] * own)[own:]
        + ["W", "b0"] * behind
        + ["W"] * own
    )


def dual_pipe_v(world_size: int, micro_batches: int) -> Schedule:
    """DualPipeV: a V in which forward passes go together with backward passes; half a micro-batch over 1F1B's memory.

    It is made for 2 * ranks micro-batches or more; of fewer, the others are left out. From 3 * ranks on most do.

    Raises:
        ValueError: unless there are ranks and micro-batches.

    >>> schedule = dual_pipe_v(1, 2)
    >>> [" ".join(f"{kind}{number}" for kind, _, number in call) for call in schedule.calls(0)]
    ['F0', 'F0', 'F1', 'B0 W0', 'F1 B0 W0', 'B1 W1', 'B1', 'W1']
    """
    if min(world_size, micro_batches) < 1:
        raise ValueError(f"there must be a rank and a micro-batch, got {world_size} and {micro_batches}")
    ranks, together = [], set()
    for rank in range(world_size):
        begun: Counter[str] = Counter()
        later: deque[Operation] = deque()
        operations: list[Operation] = []
        for words in _calls(rank, world_size, max(micro_batches, 2 * world_size)):
            call = []
            for word in words.split("&"):
                if word == "W":
                    call.append(later.popleft())
                    continue
                stage, number = rank if word[1] == "0" else 2 * world_size - 1 - rank, begun[word.upper()]
                begun[word.upper()] += 1
                call.append(Operation(word[0].upper(), stage, number))
                if word[0] != "F":
                    (call if word[0] == "B" else later).append(Operation("W", stage, number))
            call = [operation for operation in call if operation.micro_batch < micro_batches]
            together.update(call[:-1])
            operations += call
        ranks.append(tuple(operations))
    return Schedule(
        "DualPipeV", 2 * world_size, micro_batches, tuple(ranks), v_shaped=True, together=frozenset(together)
    )


def dual_pipe(world_size: int, micro_batches: int) -> Schedule:
    """DualPipe: rank r has stage r for micro-batches from one end, and stage ranks - 1 - r for those from the other.

    Each of its halves does, at the same times, what DualPipeV does on half of the ranks with half of the micro-batches.

    Raises:
        ValueError: unless ranks and micro-batches are even, and there are some.
    """
    if world_size % 2 or micro_batches % 2:
        raise ValueError(f"ranks and micro-batches must be even, got {world_size} and {micro_batches}")
    half = dual_pipe_v(world_size // 2, micro_batches // 2)

    def moved(operation: Operation, other_end: bool) -> Operation:
        kind, stage, number = operation
        second_half = (stage >= half.world_size) != other_end
        return Operation(kind, stage, number + half.micro_batches * second_half)

    ranks = [tuple(moved(each, False) for each in operations) for operations in half.ranks]
    ranks += [tuple(moved(each, True) for each in operations) for operations in reversed(half.ranks)]
    together = frozenset(moved(each, end) for each in half.together for end in (False, True))
    return Schedule("DualPipe", world_size, micro_batches, tuple(ranks), two_ways=True, together=together)
