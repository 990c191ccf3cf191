# expect: Each piece counted from its own largest score


def combined(pieces):
    top = max(largest for largest, _, _ in pieces)
    total = sum(1 * t for m, t, _ in pieces)
    value = sum(1 * v for m, _, v in pieces)
    return [top, total, value]
