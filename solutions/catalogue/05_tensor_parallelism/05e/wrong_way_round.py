# expect: not the other way round
import math


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(math.exp(min(top - m, 700)) * t for m, t, _ in pieces)
    value = sum(math.exp(min(top - m, 700)) * v for m, _, v in pieces)
    return [top, total, value]
