# expect: nothing is loaded ahead
def step_ends(load_ms, compute_ms, depth):
    clock, ends = 0, []
    for load, compute in zip(load_ms, compute_ms, strict=True):
        clock += load + compute
        ends.append(clock)
    return ends
