import math


def combined(pieces):
    top, total, value = -math.inf, 0.0, 0.0
    for m, t, v in pieces:
        new = max(top, m)
        old_scale, scale = math.exp(top - new), math.exp(m - new)
        top, total, value = new, old_scale * total + scale * t, old_scale * value + scale * v
    return [top, total, value]
