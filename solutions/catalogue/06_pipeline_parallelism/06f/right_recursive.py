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
