# expect: drops examples
def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    own = batch // ranks if policy == "strong" else batch
    c = fixed_ms + example_ms * own
    step = c / 3 + max(c * 2 / 3, 2 * (ranks - 1) / ranks * wire_ms)
    one = (fixed_ms + example_ms * batch) * (ranks if policy == "weak" else 1)
    return [step, one / step, one / step / ranks]
