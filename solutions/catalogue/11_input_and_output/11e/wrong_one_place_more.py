# expect: that has one more
def step_ends(load_ms, compute_ms, depth):
    begins, ends, loaded = [], [], 0
    for i, load in enumerate(load_ms):
        place = i - depth - 2
        loaded = max(loaded, begins[place] if place >= 0 else 0) + load
        begins.append(max(loaded, ends[-1] if ends else 0))
        ends.append(begins[-1] + compute_ms[i])
    return ends
