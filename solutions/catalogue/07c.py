# %% right: recursive
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


# %% right: slot_by_slot
def min_recomputed(times, slots):
    n = len(times)
    passed = [sum(times[:i]) for i in range(n + 1)]
    parts = [(start, start + length) for length in range(1, n + 1) for start in range(n - length + 1)]
    with_fewer = {(s, t): sum(passed[i] - passed[s] for i in range(s, t)) for s, t in parts}
    for _ in range(slots - 1):
        now = {}
        for s, t in parts:
            options = [passed[j] - passed[s] + with_fewer[j, t] + now[s, j] for j in range(s + 1, t)]
            now[s, t] = min(options, default=0)
        with_fewer = now
    return with_fewer[0, n]
