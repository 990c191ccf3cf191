# expect: exp only of what is 0 or less
import math


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(math.exp(m) / math.exp(top) * t for m, t, _ in pieces)
    value = sum(math.exp(m) / math.exp(top) * v for m, _, v in pieces)
    return [top, total, value]
