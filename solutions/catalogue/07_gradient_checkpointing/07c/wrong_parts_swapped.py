# expect: The part behind j goes back first
from functools import cache


def least_recomputed(times, slots):
    @cache
    def least(start, end, c):
        if end == start + 1:
            return 0
        if c == 1:
            return sum(sum(times[start:last]) for last in range(start, end))
        return min(sum(times[start:j]) + least(j, end, c) + least(start, j, c - 1) for j in range(start + 1, end))

    return least(0, len(times), slots)
