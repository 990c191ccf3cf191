# %% right: loop
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


# %% right: torch
def numbers_stored(row_modes, column_modes, rank):
    modes = torch.tensor(row_modes).mul(torch.tensor(column_modes)).double()
    ends = torch.ones(len(modes) + 1)
    ends[1:-1] = rank
    train = (ends[:-1] * modes * ends[1:]).sum()
    return torch.stack([rank ** len(modes) + rank * modes.sum(), train, (modes.prod() / train).round()])
