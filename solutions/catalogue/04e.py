# %% right: overlaps
def halo_rows(comm, mine, height, kernel, stride, padding):
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding)
    start, stop = needs[comm.rank]
    rows = torch.zeros(stop - start, mine.shape[1])
    sent, first = [], has[comm.rank][0]
    for rank in range(comm.world_size):
        low, high = max(needs[rank][0], first), min(needs[rank][1], has[comm.rank][1])
        if low < high and rank != comm.rank:
            sent.append(comm.isend(mine[low - first : high - first].contiguous(), rank))
    for rank in range(comm.world_size):
        low, high = max(start, has[rank][0]), min(stop, has[rank][1])
        if low < high:
            if rank == comm.rank:
                rows[low - start : high - start] = mine[low - first : high - first]
            else:
                comm.recv(rows[low - start : high - start], rank)
    for work in sent:
        work.wait()
    return rows


# %% right: row_by_row
def halo_rows(comm, mine, height, kernel, stride, padding):
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding)

    def owner(row):
        return next(rank for rank, (low, high) in enumerate(has) if low <= row < high)

    sent = []
    for rank, (low, high) in enumerate(needs):
        wanted = [row for row in range(low, high) if 0 <= row < height and owner(row) == comm.rank]
        if rank != comm.rank and wanted:
            sent.append(comm.isend(torch.stack([mine[row - has[comm.rank][0]] for row in wanted]), rank))
    rows = {}
    for rank in range(comm.world_size):
        wanted = [row for row in range(*needs[comm.rank]) if 0 <= row < height and owner(row) == rank]
        if rank == comm.rank:
            rows |= {row: mine[row - has[rank][0]] for row in wanted}
        elif wanted:
            box = torch.empty(len(wanted), mine.shape[1])
            comm.recv(box, rank)
            rows |= dict(zip(wanted, box, strict=True))
    for work in sent:
        work.wait()
    nothing = torch.zeros(mine.shape[1])
    return torch.stack([rows.get(row, nothing) for row in range(*needs[comm.rank])])


# %% right: whoever_comes_first
def halo_rows(comm, mine, height, kernel, stride, padding):
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding)

    def shared(owner, receiver):
        return range(max(has[owner][0], needs[receiver][0]), min(has[owner][1], needs[receiver][1]))

    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    first, start = has[comm.rank][0], needs[comm.rank][0]
    sent = []
    for rank in others:
        for row in shared(comm.rank, rank):  # a row each, so that it does not matter whose comes first
            sent.append(comm.isend(mine[row - first], rank))
    rows = torch.zeros(needs[comm.rank][1] - start, mine.shape[1])
    for row in shared(comm.rank, comm.rank):
        rows[row - start] = mine[row - first]
    waiting = {rank: iter(shared(rank, comm.rank)) for rank in others}
    for _ in [row for rank in others for row in shared(rank, comm.rank)]:
        row = torch.empty(mine.shape[1])
        rank = comm.recv(row)
        rows[next(waiting[rank]) - start] = row
    for work in sent:
        work.wait()
    return rows
