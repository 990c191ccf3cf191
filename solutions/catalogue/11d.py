# %% right: last_use
def misses(epochs, places, policy):
    last_use, clock, counts = {}, 0, []
    for epoch in epochs:
        before = len(counts)
        counts += [0]
        for sample in epoch:
            clock += 1
            known = sample in last_use
            counts[before] += not known
            if policy == "lru":
                if not known and len(last_use) == places:
                    del last_use[min(last_use, key=last_use.get)]
                last_use[sample] = clock
            elif len(last_use) < places:
                last_use[sample] = clock
    return counts


# %% right: ordered_dict
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
