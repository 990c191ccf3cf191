# expect: With one slot, length
from functools import cache


def least_recomputed(times, slots):
    @cache
    def least(start, end, c):
        if c == 1 or end == start + 1:
            return (end - start) * (end - start - 1) // 2
        return min(sum(times[start:j]) + least(j, end, c - 1) + least(start, j, c) for j in range(start + 1, end))

    return least(0, len(times), slots)
