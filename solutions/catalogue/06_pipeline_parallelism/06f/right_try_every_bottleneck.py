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
