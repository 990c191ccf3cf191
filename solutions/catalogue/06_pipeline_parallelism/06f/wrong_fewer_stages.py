# expect: fewer stages are not allowed
def least_bottleneck(times, transfers, stages):
    best = {}
    for count in range(1, len(times) + 1):
        best[count, 1] = sum(times[:count])
        for stage in range(2, min(stages, count) + 1):
            best[count, stage] = min(
                max(best[cut, stage - 1], transfers[cut - 1], sum(times[cut:count])) for cut in range(stage - 1, count)
            )
    return min(best[len(times), stage] for stage in range(1, stages + 1))
