def min_recomputed(times, slots):
    n = len(times)
    passed = [sum(times[:i]) for i in range(n + 1)]
    parts = [(start, start + length) for length in range(1, n + 1) for start in range(n - length + 1)]
    with_fewer = {(s, t): sum(passed[i] - passed[s] for i in range(s, t)) for s, t in parts}
    for _ in range(slots - 1):
        now = {}
        for s, t in parts:
            options = [passed[j] - passed[s] + with_fewer[j, t] + now[s, j] for j in range(s + 1, t)]
            now[s, t] = min(options, default=0)
        with_fewer = now
    return with_fewer[0, n]
