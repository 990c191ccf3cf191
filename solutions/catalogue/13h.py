# %% right: number_by_number
def resharded(comm, mine, before, after, shape):
    def numbers(rank, mesh):
        rows, columns = part(rank, mesh, shape)
        return [(row, column) for row in range(*rows) for column in range(*columns)]

    ranks = range(comm.world_size)
    has = [numbers(rank, before) for rank in ranks]
    lacks = [[number for number in numbers(rank, after) if number not in has[rank]] for rank in ranks]
    first = {}
    for rank in reversed(ranks):
        first |= dict.fromkeys(has[rank], rank)
    values, waits, boxes = dict(zip(has[comm.rank], mine.flatten(), strict=True)), [], []
    for rank in ranks:
        out = [values[number] for number in lacks[rank] if first[number] == comm.rank]
        come = [number for number in lacks[comm.rank] if first[number] == rank]
        if out:
            waits.append(comm.isend(torch.stack(out), rank))
        if come:
            boxes.append((come, torch.empty(len(come))))
            waits.append(comm.irecv(boxes[-1][1], rank))
    for work in waits:
        work.wait()
    for come, box in boxes:
        values |= dict(zip(come, box, strict=True))
    (top, end), (left, right) = part(comm.rank, after, shape)
    new = [values[number] for number in numbers(comm.rank, after)]
    return (torch.stack(new) if new else torch.empty(0)).reshape(end - top, right - left)


# %% right: whole_with_holes
def resharded(comm, mine, before, after, shape):
    size = before[1] * before[2]
    whole = torch.zeros(*shape)

    def view(rank, mesh):
        (top, end), (left, right) = part(rank, mesh, shape)
        mask = torch.zeros(*shape, dtype=torch.bool)
        mask[top:end, left:right] = True
        return mask

    whole[view(comm.rank, before)] = mine.flatten()
    sent = []
    for rank in range(comm.world_size):
        wanted = view(rank, after) & ~view(rank, before) & view(comm.rank, before)
        if comm.rank < size and wanted.any():
            sent.append(comm.isend(whole[wanted], rank))
    for rank in range(size):
        wanted = view(comm.rank, after) & ~view(comm.rank, before) & view(rank, before)
        if wanted.any():
            box = torch.empty(int(wanted.sum()))
            comm.recv(box, rank)
            whole[wanted] = box
    for work in sent:
        work.wait()
    (top, end), (left, right) = part(comm.rank, after, shape)
    return whole[top:end, left:right]


# %% wrong: gathers_all
def resharded(comm, mine, before, after, shape):
    whole, copies = torch.zeros(*shape), before[1] * before[2]
    sent = [comm.isend(mine, rank) for rank in range(comm.world_size) if comm.rank < copies and rank != comm.rank]
    for rank in range(copies):
        (top, end), (left, right) = part(rank, before, shape)
        box = mine
        if rank != comm.rank:
            box = torch.empty(end - top, right - left)
            comm.recv(box, rank)
        whole[top:end, left:right] = box
    for work in sent:
        work.wait()
    (top, end), (left, right) = part(comm.rank, after, shape)
    return whole[top:end, left:right]


# %% wrong: each_copy_sends
def resharded(comm, mine, before, after, shape):
    whole = torch.zeros(*shape)

    def view(rank, mesh):
        (top, end), (left, right) = part(rank, mesh, shape)
        mask = torch.zeros(*shape, dtype=torch.bool)
        mask[top:end, left:right] = True
        return mask

    whole[view(comm.rank, before)] = mine.flatten()
    sent = []
    for rank in range(comm.world_size):
        wanted = view(rank, after) & ~view(rank, before) & view(comm.rank, before)
        if wanted.any():
            sent.append(comm.isend(whole[wanted], rank))
    for rank in range(comm.world_size):
        wanted = view(comm.rank, after) & ~view(comm.rank, before) & view(rank, before)
        if wanted.any():
            box = torch.empty(int(wanted.sum()))
            comm.recv(box, rank)
            whole[wanted] = box
    for work in sent:
        work.wait()
    (top, end), (left, right) = part(comm.rank, after, shape)
    return whole[top:end, left:right]
