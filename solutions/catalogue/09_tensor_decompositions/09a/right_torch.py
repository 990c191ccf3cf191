def numbers_stored(row_modes, column_modes, rank):
    modes = torch.tensor(row_modes).mul(torch.tensor(column_modes)).double()
    ends = torch.ones(len(modes) + 1)
    ends[1:-1] = rank
    train = (ends[:-1] * modes * ends[1:]).sum()
    return torch.stack([rank ** len(modes) + rank * modes.sum(), train, (modes.prod() / train).round()])
