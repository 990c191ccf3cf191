# expect: The cache stays full from one epoch to the next
def misses(epochs, places, policy):
    counts = []
    for epoch in epochs:
        kept = []
        counts.append(0)
        for sample in epoch:
            counts[-1] += sample not in kept
            if policy == "lru":
                kept = [*(s for s in kept if s != sample), sample][-places:]
            elif sample not in kept and len(kept) < places:
                kept.append(sample)
    return counts
