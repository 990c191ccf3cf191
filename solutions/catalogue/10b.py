# %% right: fractions
from fractions import Fraction


def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    strong = policy == "strong"
    compute = fixed_ms + Fraction(batch, ranks if strong else 1) * example_ms
    ring = Fraction(2 * (ranks - 1) * wire_ms, ranks)
    step = max(compute, compute / 3 + ring)
    efficiency = (fixed_ms + batch * example_ms) / step / (ranks if strong else 1)
    return [step, efficiency * ranks, efficiency]


# %% right: throughput
def scaled(fixed_ms, example_ms, wire_ms, batch, ranks, policy):
    own, total = (batch / ranks, batch) if policy == "strong" else (batch, batch * ranks)
    forward = (fixed_ms + own * example_ms) / 3.0
    waits = max(0.0, wire_ms * (2 - 2 / ranks) - 2 * forward)
    step = 3 * forward + waits
    rate, alone_rate = total / step, batch / (fixed_ms + batch * example_ms)
    return step, rate / alone_rate, rate / alone_rate / ranks
