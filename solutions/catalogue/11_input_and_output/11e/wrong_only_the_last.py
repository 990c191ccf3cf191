# expect: not only the last
def step_ends(load_ms, compute_ms, depth):
    begins, end, loaded = [], 0, 0
    for i, load in enumerate(load_ms):
        loaded = max(loaded, begins[i - depth - 1] if i > depth else 0) + load
        begins.append(max(loaded, end))
        end = begins[-1] + compute_ms[i]
    return end
