# expect: of the two only the longer one counts
def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    each = batch / ranks if policy == "strong" else batch
    compute = fixed_ms + each * example_ms
    ring = 2 * (ranks - 1) / ranks * wire_ms
    step = compute + ring
    speedup = (fixed_ms + batch * example_ms) / step
    if policy == "weak":
        speedup *= ranks
    return [step, speedup, speedup / ranks]
