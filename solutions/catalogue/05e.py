# %% right: all_at_once
import math


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(math.exp(m - top) * t for m, t, _ in pieces)
    value = sum(math.exp(m - top) * v for m, _, v in pieces)
    return [top, total, value]


# %% right: one_by_one
import math


def combined(pieces):
    top, total, value = -math.inf, 0.0, 0.0
    for m, t, v in pieces:
        new = max(top, m)
        if new == -math.inf:
            continue
        old_scale, scale = math.exp(top - new), math.exp(m - new)
        top, total, value = new, old_scale * total + scale * t, old_scale * value + scale * v
    return top, total, value


# %% wrong: first_two_empty
import math


def exp(difference):
    return 0.0 if difference == -math.inf else math.exp(difference)


def combined(pieces):
    top, total, value = pieces[0]
    for m, t, v in pieces[1:]:
        new = max(top, m)
        total = total * exp(top - new) + t * exp(m - new)
        value = value * exp(top - new) + v * exp(m - new)
        top = new
    return [top, total, value]


# %% wrong: no_number
import math


def combined(pieces):
    top, total, value = -math.inf, 0.0, 0.0
    for m, t, v in pieces:
        new = max(top, m)
        old_scale, scale = math.exp(top - new), math.exp(m - new)
        top, total, value = new, old_scale * total + scale * t, old_scale * value + scale * v
    return [top, total, value]
