def misses(epochs, places, policy):
    from collections import OrderedDict

    kept, counts = OrderedDict(), []
    for epoch in epochs:
        missed = 0
        for sample in epoch:
            if sample in kept:
                if policy == "lru":
                    kept.move_to_end(sample)
                continue
            missed += 1
            if policy == "keep" and len(kept) >= places:
                continue
            if len(kept) >= places:
                kept.popitem(last=False)
            kept[sample] = True
        counts.append(missed)
    return counts
