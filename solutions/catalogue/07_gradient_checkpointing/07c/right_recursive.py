from functools import cache


def min_recomputed(times, slots):
    @cache
    def least(start, end, c):
        if end == start + 1:
            return 0
        if c == 1:
            return sum(times[start : end - 1]) + least(start, end - 1, 1)
        return min(sum(times[start:j]) + least(j, end, c - 1) + least(start, j, c) for j in range(start + 1, end))

    return least(0, len(times), slots)
