# expect: m · n values, not m + n
def numbers_stored(row_modes, column_modes, rank):
    modes = [m + n for m, n in zip(row_modes, column_modes, strict=True)]
    ranks = [1] + [rank] * (len(modes) - 1) + [1]
    train = sum(ranks[k] * n * ranks[k + 1] for k, n in enumerate(modes))
    dense = math.prod(row_modes) * math.prod(column_modes)
    return [rank ** len(modes) + sum(n * rank for n in modes), train, round(dense / train)]
