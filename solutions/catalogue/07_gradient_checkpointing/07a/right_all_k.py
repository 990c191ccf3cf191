def fewest_held(layers):
    rows = [(k + layers // k, layers - layers // k, k) for k in range(1, layers + 1)]
    peak, recomputed, segments = min(rows)
    return segments, peak, recomputed
