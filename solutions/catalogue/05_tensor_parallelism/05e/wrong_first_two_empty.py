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
