# expect: A core has a rank on each side
def numbers_stored(row_modes, column_modes, rank):
    modes = [m * n for m, n in zip(row_modes, column_modes, strict=True)]
    train = sum(rank * n for n in modes)
    return [rank ** len(modes) + sum(n * rank for n in modes), train, round(math.prod(modes) / train)]
