# expect: n ranks together do the work of one
def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    each = batch / ranks if policy == "strong" else batch
    compute = fixed_ms + each * example_ms
    ring = 2 * (ranks - 1) / ranks * wire_ms
    step = compute / 3 + max(2 * compute / 3, ring)
    speedup = (fixed_ms + batch * example_ms) / step
    speedup *= ranks
    return [step, speedup, speedup / ranks]
