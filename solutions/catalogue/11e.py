# %% right: dictionaries
def step_ends(load_ms, compute_ms, depth):
    loaded, begun, ended = {-1: 0}, {}, {-1: 0}
    for i in range(len(load_ms)):
        loaded[i] = max(loaded[i - 1], begun.get(i - depth - 1, 0)) + load_ms[i]
        begun[i] = max(loaded[i], ended[i - 1])
        ended[i] = begun[i] + compute_ms[i]
    return [ended[i] for i in range(len(load_ms))]


# %% right: played
def step_ends(load_ms, compute_ms, depth):
    """Plays the two, a place in the queue at a time."""
    from collections import deque

    places, device, clock, ends = deque([0] * (depth + 1)), 0, 0, []
    for load, compute in zip(load_ms, compute_ms, strict=True):
        clock = max(clock, places.popleft()) + load
        begin = max(clock, device)
        places.append(begin)
        device = begin + compute
        ends.append(device)
    return ends
