from itertools import pairwise


def min_bottleneck(times, transfers, stages):
    cuts = [stage * len(times) // stages for stage in range(stages + 1)]
    computed = [sum(times[start:stop]) for start, stop in pairwise(cuts)]
    return max(computed + [transfers[cut - 1] for cut in cuts[1:-1]])
