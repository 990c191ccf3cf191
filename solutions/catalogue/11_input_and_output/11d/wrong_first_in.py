# expect: There what came in first goes first
def misses(epochs, places, policy):
    kept, counts = [], []
    for epoch in epochs:
        counts.append(0)
        for sample in epoch:
            if sample in kept:
                continue
            counts[-1] += 1
            if policy == "lru":
                kept = [*kept, sample][-places:]
            elif len(kept) < places:
                kept.append(sample)
    return counts
