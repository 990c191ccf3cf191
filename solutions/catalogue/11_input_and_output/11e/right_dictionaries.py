def step_ends(load_ms, compute_ms, depth):
    loaded, begun, ended = {-1: 0}, {}, {-1: 0}
    for i in range(len(load_ms)):
        loaded[i] = max(loaded[i - 1], begun.get(i - depth - 1, 0)) + load_ms[i]
        begun[i] = max(loaded[i], ended[i - 1])
        ended[i] = begun[i] + compute_ms[i]
    return [ended[i] for i in range(len(load_ms))]
