# expect: no more
def misses(epochs, places, policy):
    kept, counts = [], []
    for epoch in epochs:
        counts.append(0)
        for sample in epoch:
            counts[-1] += sample not in kept
            if policy == "lru":
                kept = [*(s for s in kept if s != sample), sample]
                if len(kept) > places + 1:
                    kept.pop(0)
            elif sample not in kept and len(kept) <= places:
                kept.append(sample)
    return counts
