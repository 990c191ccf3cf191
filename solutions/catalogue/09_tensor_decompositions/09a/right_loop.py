def numbers_stored(row_modes, column_modes, rank):
    d = len(row_modes)
    core, factors, train, dense = 1, 0, 0, 1
    for k in range(d):
        values = row_modes[k] * column_modes[k]
        left = 1 if k == 0 else rank
        right = 1 if k == d - 1 else rank
        core *= rank
        factors += values * rank
        train += left * values * right
        dense *= values
    return core + factors, train, int(dense / train + 0.5)
