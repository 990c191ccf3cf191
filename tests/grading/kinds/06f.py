# %% abc_total_ordering
import abc, functools


@functools.total_ordering
class Cost:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


class Solver(abc.ABC):
    @abc.abstractmethod
    def solve(self, *a): ...


class Dp(Solver):
    def solve(self, times, transfers, stages):
        @functools.cache
        def best(n, s):
            if s == 1:
                return Cost(sum(times[:n]))
            return min(max(best(c, s - 1), Cost(transfers[c - 1]), Cost(sum(times[c:n]))) for c in range(s - 1, n))

        return best(len(times), stages).v


def min_bottleneck(times, transfers, stages):
    return Dp().solve(times, transfers, stages)
