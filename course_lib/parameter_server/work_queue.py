"""Work queue: a batch is cut into portions, which go to whichever worker is free, the last ones to two (backup tasks).

Source: J. Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2; backup tasks: J. Dean and
S. Ghemawat, "MapReduce", OSDI 2004.
"""

from __future__ import annotations

from collections import deque


def portion_slice(number: int, portions: int, length: int) -> slice:
    """The examples of portion `number` of a batch of `length` examples.

    >>> [portion_slice(number, portions=3, length=8) for number in range(3)]
    [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
    """
    return slice(length * number // portions, length * (number + 1) // portions)


class WorkQueue:
    """The queue of one batch's portions: which are handed out, how often, and which are done.

    Args:
        count: portions in the batch.
        copies: a portion is handed out at most so often; 1: none is duplicated.

    >>> queue = WorkQueue(3, copies=2)
    >>> [queue.hand_out() for _ in range(5)]  # the last two are duplicates
    [0, 1, 2, 0, 1]
    >>> queue.accept(1), queue.accept(1)  # the first result wins
    (True, False)
    >>> queue.hand_out(), queue.hand_out()
    (2, None)
    """

    def __init__(self, count: int, copies: int = 2) -> None:
        if count < 1 or copies < 1:
            raise ValueError(f"a batch has at least 1 portion and hands it out at least once, got {count} and {copies}")
        self.count, self.copies = count, copies
        self.handed = dict.fromkeys(range(count), 0)  # outstanding portions: how often each was handed out
        self.duplicates = 0

    @property
    def complete(self) -> bool:
        """True once every portion is done."""
        return not self.handed

    def hand_out(self) -> int | None:
        """The next portion for a free worker: one that nobody has, otherwise one that fewest have; None: none left."""
        number = min(self.handed, key=lambda number: (self.handed[number], number), default=None)
        if number is None or self.handed[number] >= self.copies:
            return None
        self.duplicates += self.handed[number] > 0
        self.handed[number] += 1
        return number

    def accept(self, number: int) -> bool:
        """Take a result; False if this portion was done before."""
        return self.handed.pop(number, None) is not None

    def take_back(self, number: int) -> bool:
        """Requeue a portion whose worker died; False if it was done before.

        >>> queue = WorkQueue(2, copies=1)
        >>> queue.hand_out(), queue.hand_out(), queue.take_back(0), queue.hand_out()
        (0, 1, True, 0)
        """
        if number not in self.handed:
            return False
        self.handed[number] -= 1
        return True


def employ(free: deque[int], queue: WorkQueue | None, *, over: bool) -> list[tuple[int, int | None]]:
    """Assign portions to the workers in `free` while there are any; once all is `over`, give each of them None.

    >>> free = deque([7, 8, 9])
    >>> employ(free, WorkQueue(2, copies=1), over=False), free
    ([(7, 0), (8, 1)], deque([9]))
    >>> employ(free, None, over=True)
    [(9, None)]
    """
    employed: list[tuple[int, int | None]] = []
    while free:
        number = queue.hand_out() if queue and not over else None
        if number is None and not over:
            break
        employed.append((free.popleft(), number))
    return employed
