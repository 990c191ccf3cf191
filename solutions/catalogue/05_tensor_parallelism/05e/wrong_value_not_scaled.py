# expect: The value is made of the same
import math


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(math.exp(m - top) * t for m, t, _ in pieces)
    value = sum(1 * v for m, _, v in pieces)
    return [top, total, value]
