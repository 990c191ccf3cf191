# expect: the same smaller questions are asked again and again
def least_recomputed(times, slots):
    if len(times) == 1:
        return 0
    if slots == 1:
        return sum(times[:-1]) + least_recomputed(times[:-1], 1)
    return min(
        sum(times[:j]) + least_recomputed(times[j:], slots - 1) + least_recomputed(times[:j], slots)
        for j in range(1, len(times))
    )
