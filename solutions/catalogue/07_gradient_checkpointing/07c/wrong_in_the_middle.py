# expect: The middle is not always the best place
from functools import cache


def least_recomputed(times, slots):
    @cache
    def least(start, end, c):
        if end == start + 1:
            return 0
        if c == 1:
            return sum(sum(times[start:last]) for last in range(start, end))
        return min(sum(times[start:j]) + least(j, end, c - 1) + least(start, j, c) for j in [(start + end) // 2])

    return least(0, len(times), slots)
