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
