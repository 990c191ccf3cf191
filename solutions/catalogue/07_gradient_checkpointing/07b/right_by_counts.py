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
