# expect: The transfer at a cut before layer i
def least_bottleneck(times, transfers, stages):
    costs = [*transfers, 0]
    best = {(0, 0): 0}
    for end in range(1, len(times) + 1):
        for stage in range(1, min(stages, end) + 1):
            ways = [
                max(best[cut, stage - 1], sum(times[cut:end]), costs[cut] if cut else 0)
                for cut in range(end)
                if (cut, stage - 1) in best
            ]
            if ways:
                best[end, stage] = min(ways)
    return best[len(times), stages]
