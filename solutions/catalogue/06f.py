# %% right: recursive
from functools import cache


def min_bottleneck(times, transfers, stages):
    @cache
    def best(count, stages):
        if stages == 1:
            return sum(times[:count])
        return min(
            max(best(cut, stages - 1), transfers[cut - 1], sum(times[cut:count])) for cut in range(stages - 1, count)
        )

    return best(len(times), stages)


# %% right: try_every_bottleneck
def min_bottleneck(times, transfers, stages):
    layers = len(times)

    def fits(most):
        """Whether there is a cut with at most this bottleneck: for each end, the numbers of stages that reach it."""
        reach = [{0}] + [set() for _ in times]
        for end in range(1, layers + 1):
            for start in range(end):
                if sum(times[start:end]) <= most and (start == 0 or transfers[start - 1] <= most):
                    reach[end] |= {number + 1 for number in reach[start]}
        return stages in reach[layers]

    low, high = 0, sum(times) + sum(transfers)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


# %% wrong: equal_numbers
from itertools import pairwise


def min_bottleneck(times, transfers, stages):
    cuts = [stage * len(times) // stages for stage in range(stages + 1)]
    computed = [sum(times[start:stop]) for start, stop in pairwise(cuts)]
    return max(computed + [transfers[cut - 1] for cut in cuts[1:-1]])


# %% wrong: fills_up
def min_bottleneck(times, transfers, stages):
    mean, bottleneck, filled, begun = sum(times) / stages, 0, times[0], 1
    for i in range(1, len(times)):
        if begun < stages and (filled + times[i] > mean or len(times) - i == stages - begun):
            bottleneck, filled, begun = max(bottleneck, filled, transfers[i - 1]), 0, begun + 1
        filled += times[i]
    return max(bottleneck, filled)
