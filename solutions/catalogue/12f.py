# %% right: number_by_number
def reads(length, saved_by, ranks):
    saved, wanted = math.ceil(length / saved_by), math.ceil(length / ranks)
    plan = [[[], wanted] for _ in range(ranks)]
    for number in range(length):
        mine = plan[number // wanted]
        file, place = divmod(number, saved)
        if not mine[0] or mine[0][-1][0] != file:
            mine[0].append([file, place, place])
        mine[0][-1][2] += 1
        mine[1] -= 1
    return plan


# %% right: torch
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


# %% right: walk
def reads(length, saved_by, ranks):
    saved, wanted = (length + saved_by - 1) // saved_by, (length + ranks - 1) // ranks
    plan, at = [], 0
    for _ in range(ranks):
        room, parts = wanted, []
        while room and at < length:
            file, first = at // saved, at % saved
            taken = min(room, saved - first, length - at)
            parts.append([file, first, first + taken])
            room, at = room - taken, at + taken
        plan.append([parts, room])
    return plan


# %% wrong: first_ranks_have_more
def reads(length, saved_by, ranks):
    def cuts(parts):
        sizes = [length // parts + (part < length % parts) for part in range(parts)]
        return [(sum(sizes[:part]), sum(sizes[: part + 1])) for part in range(parts)]

    plan = []
    for begin, end in cuts(ranks):
        parts = []
        for file, (low, high) in enumerate(cuts(saved_by)):
            first, stop = max(begin, low), min(end, high)
            if first < stop:
                parts.append([file, first - low, stop - low])
        plan.append([parts, -(-length // ranks) - (end - begin)])
    return plan
