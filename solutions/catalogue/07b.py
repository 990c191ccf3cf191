# %% right: by_counts
from collections import Counter


def peak_and_recomputed(sizes, plan):
    holders, held, runs, most = Counter({0: 1}), {0}, Counter(), 0
    for word in plan:
        kind, i = parts(word)
        if kind in ("run", "store"):
            runs[i] += 1
            holders[i] += i not in held
            held.add(i)
        if kind == "store":
            holders[i - 1] += 1
        if kind == "free":
            held.discard(i)
            holders[i] -= 1
        if kind == "back":
            holders[i - 1] -= 1
        most = max(most, sum(size for value, size in enumerate(sizes) if holders[value] > 0))
    return most, sum(runs.values()) - len(runs)


# %% right: flags
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
