def reads(length, saved_by, ranks):
    saved, wanted = -(-length // saved_by), -(-length // ranks)
    row = torch.full((wanted * ranks,), -1)
    row[:length] = torch.arange(length)
    plan = []
    for piece in row.view(ranks, wanted):
        mine = piece[piece >= 0]
        files = (mine // saved).unique().tolist()
        each = [mine[mine // saved == file] - file * saved for file in files]
        parts = [[file, part[0].item(), part[-1].item() + 1] for file, part in zip(files, each, strict=True)]
        plan.append([parts, wanted - len(mine)])
    return plan
