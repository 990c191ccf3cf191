# %% right: all_k
def fewest_held(layers):
    rows = [(k + layers // k, layers - layers // k, k) for k in range(1, layers + 1)]
    peak, recomputed, segments = min(rows)
    return segments, peak, recomputed


# %% right: played
def fewest_held(layers):
    best = None
    for k in range(1, layers + 1):
        sizes = [layers // k + (i < layers % k) for i in range(k)]
        peak = max(number + size for number, size in enumerate(sizes, 1))
        if best is None or peak < best[1]:
            best = [k, peak, sum(sizes[:-1])]
        if k > best[1]:
            break
    return best
