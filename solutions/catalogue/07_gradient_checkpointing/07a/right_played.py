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
