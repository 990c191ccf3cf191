# expect: A number for each epoch
def misses(epochs, places, policy):
    kept, count = [], 0
    for epoch in epochs:
        for sample in epoch:
            count += sample not in kept
            if policy == "lru":
                kept = [*(s for s in kept if s != sample), sample][-places:]
            elif sample not in kept and len(kept) < places:
                kept.append(sample)
    return count
