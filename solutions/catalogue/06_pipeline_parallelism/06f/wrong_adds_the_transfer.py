# expect: not a stage and its transfer together
from functools import cache


def least_bottleneck(times, transfers, stages):
    @cache
    def best(count, stages):
        send = transfers[count - 1] if count < len(times) else 0
        if stages == 1:
            return sum(times[:count]) + send
        return min(max(best(cut, stages - 1), sum(times[cut:count]) + send) for cut in range(stages - 1, count))

    return best(len(times), stages)
