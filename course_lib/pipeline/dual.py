"""DualPipeV and DualPipe: a forward and a backward pass in one call, so that what one of them sends hides behind the
other's computing.

DualPipe feeds the pipe from both ends, through two copies of the weights. Folded in its middle it is DualPipeV: a V on
half of the ranks, with one copy.

Source: deepseek-ai/DualPipe on GitHub; DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, section 3.2.1.
Folding it: P. Qi, X. Wan, G. Huang and M. Lin, "DualPipe could be better without the Dual", 2025.
"""

from __future__ import annotations

from collections import Counter, deque

from course_lib.pipeline.schedule import Operation, Schedule

__all__ = ["dual_pipe", "dual_pipe_v"]


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
