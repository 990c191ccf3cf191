# expect: that loads on and on
def step_ends(load_ms, compute_ms, depth):
    loaded, end, ends = 0, 0, []
    for load, compute in zip(load_ms, compute_ms, strict=True):
        loaded += load
        end = max(loaded, end) + compute
        ends.append(end)
    return ends
