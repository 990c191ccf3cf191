def kept_operations(operations, budget):
    """From the front: of all choices with one number of bytes and one cost still open, the cheapest goes on."""
    states = {(0, 0): (0, ())}  # (bytes, flops since what was kept last or needed) -> flops for certain, numbers
    for number, (size, flops, needed) in enumerate(operations):
        after = {}
        for (used, still_open), (certain, kept) in states.items():
            dropped = still_open + flops
            options = [((used, 0), (certain + dropped, kept)) if needed else ((used, dropped), (certain, kept))]
            if used + size <= budget:
                options.append(((used + size, 0), (certain, (*kept, number))))
            for state, option in options:
                after[state] = min(after.get(state, option), option)
        states = after
    return min(states.values())[1]
