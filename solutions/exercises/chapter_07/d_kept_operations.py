"""Exercise 07d: a policy of selective checkpointing: which operations' results to keep in a budget of bytes."""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise

Operations = Sequence[tuple[int, int, bool]]  # bytes, flops, and whether the way back needs the result


def blocks(rng):
    """By hand; two are better than a dear one; nothing fits; all fits; one is kept for the next; then drawn ones."""
    calls = [
        ([(2, 1, True), (6, 9, True), (6, 2, True), (2, 9, False)], 6),
        ([(7, 15, True), (5, 9, True), (5, 10, True)], 11),
    ]
    calls += [([(9, 5, True), (8, 7, True)], 7), ([(3, 5, True), (4, 1, False), (2, 8, True)], 9)]
    calls += [([(4, 9, False), (16, 1, True)], 5)]
    calls += [([*[(9, 1, False)] * 3, (5, 10, True), (5, 12, True)], 5)]  # what nobody asks for costs nothing
    for count in (8, 10, 12, 14, 40):
        sizes, flops = rng.integers(3, 40, count), rng.integers(10, 400, count)
        drawn = [(int(size), int(flop), bool(rng.random() < 0.6)) for size, flop in zip(sizes, flops, strict=True)]
        calls.append((drawn, int(sizes.sum() * rng.uniform(0.3, 0.4))))
    yield Case(1, calls, [_fits(*call) for call in calls], label="policies for blocks of 2 to 40 operations")


def _fits(operations: Operations, budget: int) -> Callable[[object], str | None]:
    """Any operations that fit and leave no more to run again than the fewest flops."""
    enough = _fewest(operations, budget)

    def wrong(value: object) -> str | None:
        numbers = list(value) if isinstance(value, (list, tuple)) else None
        if numbers is None or not all(isinstance(each, (int, np.integer)) for each in numbers):
            return "must give a list of numbers of operations such as [0, 2]"
        if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(len(operations))):
            return f"must give numbers from 0 to {len(operations) - 1}, each once; you gave {numbers}"
        kept_bytes, again = sum(operations[each][0] for each in numbers), _run_again(operations, set(numbers))
        flops = sum(operations[each][1] for each in again)
        if kept_bytes > budget:
            return f"keeps {kept_bytes} bytes, {budget} are allowed: {sorted(numbers)}"
        if flops > enough:
            return f"keeps {sorted(numbers)}, so {again} run again, {flops} flops; {enough} are enough"
        return None

    return wrong


def _run_again(operations: Operations, kept: set[int]) -> list[int]:
    """What the way back needs and is not kept, and what these are made of, back to something kept."""
    again: list[int] = []
    for number in reversed(range(len(operations))):
        asked = operations[number][2] or (bool(again) and again[-1] == number + 1)
        if asked and number not in kept:
            again.append(number)
    return again[::-1]


def _fewest(operations: Operations, budget: int) -> int:
    """The fewest flops, by a table of the last operation that is kept and of the bytes that all kept ones take."""
    never = 2**60
    last_kept = {-1: np.full(budget + 1, 0)}  # up to which operation all is settled -> flops, for each room
    for number, (size, _, _) in enumerate(operations):
        row = np.full(budget + 1, never)
        for before, flops in last_kept.items():
            if size <= budget:
                row[size:] = np.minimum(row[size:], flops[: budget + 1 - size] + _between(operations, before, number))
        last_kept[number] = row
    ends = [int(flops[-1]) + _between(operations, before, len(operations)) for before, flops in last_kept.items()]
    return min(ends)


def _between(operations: Operations, before: int, after: int) -> int:
    """The flops that run again of the operations between two that are kept."""
    needed = [number for number in range(before + 1, after) if operations[number][2]]
    return sum(operations[number][1] for number in range(before + 1, needed[-1] + 1)) if needed else 0


MISTAKES = r"""
To run an operation again, what it takes must be there: the one before is kept, or runs again as well
    least(count - 1, room, wanted) -> least(count - 1, room, False)
An operation that the way back does not need may be worth its bytes: the one behind it is run again from it
    if wanted and size <= room -> if needed and size <= room
That counts operations that nobody asks for: what the way back does not need, nor what runs again, costs nothing to drop
    wanted = wanted or needed -> wanted = True
That takes what saves most flops a byte first. What is left over may be too small for the next: try both, kept and dropped
    answer most_flops_a_byte
What is kept is there: the operations before it need not run again for it
    least(count - 1, room - size, False) -> least(count - 1, room - size, True)
That keeps as many operations as it can; count the flops that run again
    again + flops * wanted -> again + wanted
... are allowed
    if wanted and size <= room -> if wanted
A policy may take the whole budget
    size <= room -> size < room
"""

EXERCISE = function_exercise(
    __name__,
    cases=blocks,
    mistakes=MISTAKES,
    slow="Of 40 operations there are 2^40 choices. Keep the answers to smaller questions: put @cache above a function of "
    "(how many operations, the room that is left, whether the last of them is wanted)",
    hints="""
Begin with the last operation. Who asks for its result? If it is dropped and asked for, who is asked for its input?
least(count, room, wanted): the fewest flops for the first `count` operations in `room` bytes, where `wanted` says that the operation behind them runs again. Try both: the last of them dropped, and, where it fits, kept.
Dropped: its flops if it is wanted or needed, and then the one before it is wanted. Kept: its bytes leave the room, and the one before it is wanted by nobody. Return the kept ones beside the flops: (flops, numbers).
""",
)
