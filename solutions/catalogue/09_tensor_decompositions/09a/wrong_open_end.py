# expect: no neighbor, so both its ranks are 1
def numbers_stored(row_modes, column_modes, rank):
    n = [a * b for a, b in zip(row_modes, column_modes, strict=True)]
    tt = n[0] * rank + n[-1] * rank + sum(rank * rank * k for k in n[1:-1])
    return [rank ** len(n) + rank * sum(n), tt, round(math.prod(n) / tt)]
