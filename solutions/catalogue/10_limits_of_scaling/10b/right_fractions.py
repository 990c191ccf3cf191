from fractions import Fraction


def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    strong = policy == "strong"
    compute = fixed_ms + Fraction(batch, ranks if strong else 1) * example_ms
    ring = Fraction(2 * (ranks - 1) * wire_ms, ranks)
    step = max(compute, compute / 3 + ring)
    efficiency = (fixed_ms + batch * example_ms) / step / (ranks if strong else 1)
    return [step, efficiency * ranks, efficiency]
