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
