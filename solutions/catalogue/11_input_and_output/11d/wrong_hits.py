# expect: Those are hits
def misses(epochs, places, policy):
    kept, counts = [], []
    for epoch in epochs:
        counts.append(0)
        for sample in epoch:
            counts[-1] += sample in kept
            if policy == "lru":
                kept = [*(s for s in kept if s != sample), sample][-places:]
            elif sample not in kept and len(kept) < places:
                kept.append(sample)
    return counts
