# expect: only the examples are shared out
def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    compute = (fixed_ms + batch * example_ms) / (ranks if policy == "strong" else 1)
    ring = 2 * (ranks - 1) / ranks * wire_ms
    step = compute / 3 + max(2 * compute / 3, ring)
    speedup = (fixed_ms + batch * example_ms) / step
    if policy == "weak":
        speedup *= ranks
    return [step, speedup, speedup / ranks]
