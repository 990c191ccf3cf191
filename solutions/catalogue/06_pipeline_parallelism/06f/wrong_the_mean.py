# expect: the mean is only a bound
def least_bottleneck(times, transfers, stages):
    return max(max(times), sum(times) / stages)
