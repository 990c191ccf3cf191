def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    own, total = (batch / ranks, batch) if policy == "strong" else (batch, batch * ranks)
    forward = (fixed_ms + own * example_ms) / 3.0
    waits = max(0.0, wire_ms * (2 - 2 / ranks) - 2 * forward)
    step = 3 * forward + waits
    rate, alone_rate = total / step, batch / (fixed_ms + batch * example_ms)
    return step, rate / alone_rate, rate / alone_rate / ranks
