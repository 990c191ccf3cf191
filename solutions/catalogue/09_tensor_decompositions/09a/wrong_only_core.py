# expect: Tucker has a factor for each mode
def numbers_stored(row_modes, column_modes, rank):
    modes = [m * n for m, n in zip(row_modes, column_modes, strict=True)]
    ranks = [1] + [rank] * (len(modes) - 1) + [1]
    train = sum(ranks[k] * n * ranks[k + 1] for k, n in enumerate(modes))
    return [rank ** len(modes), train, round(math.prod(modes) / train)]
