def peak_and_recomputed(sizes, plan):
    n = len(sizes)
    held, stored, before = [True] + [False] * n, [False] * (n + 1), [False] * n
    peak, again = sizes[0], 0
    for word in plan:
        kind, i = parts(word)
        if kind == "free":
            held[i] = False
        elif kind == "back":
            stored[i] = False
        else:
            if before[i]:
                again += 1
            before[i] = held[i] = True
            stored[i] = stored[i] or kind == "store"
        peak = max(peak, sum(sizes[v] for v in range(n) if held[v] or stored[v + 1]))
    return [peak, again]
