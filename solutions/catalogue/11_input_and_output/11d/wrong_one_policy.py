# expect: "keep" never lets anything go
def misses(epochs, places, policy):
    kept, counts = [], []
    for epoch in epochs:
        counts.append(0)
        for sample in epoch:
            counts[-1] += sample not in kept
            kept = [*(s for s in kept if s != sample), sample][-places:]
    return counts
