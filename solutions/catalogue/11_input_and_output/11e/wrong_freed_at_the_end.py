# expect: A batch leaves its place when
def step_ends(load_ms, compute_ms, depth):
    loaded, ends = 0, []
    for i, load in enumerate(load_ms):
        loaded = max(loaded, ends[i - depth - 1] if i > depth else 0) + load
        ends.append(max(loaded, ends[-1] if ends else 0) + compute_ms[i])
    return ends
