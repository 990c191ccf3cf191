def min_bottleneck(times, transfers, stages):
    mean, bottleneck, filled, begun = sum(times) / stages, 0, times[0], 1
    for i in range(1, len(times)):
        if begun < stages and (filled + times[i] > mean or len(times) - i == stages - begun):
            bottleneck, filled, begun = max(bottleneck, filled, transfers[i - 1]), 0, begun + 1
        filled += times[i]
    return max(bottleneck, filled)
