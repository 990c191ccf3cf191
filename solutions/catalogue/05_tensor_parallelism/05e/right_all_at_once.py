import math


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(math.exp(m - top) * t for m, t, _ in pieces)
    value = sum(math.exp(m - top) * v for m, _, v in pieces)
    return [top, total, value]
