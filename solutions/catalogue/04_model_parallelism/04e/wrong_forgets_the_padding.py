# expect: padding moves the first row up
def halo_rows(comm, mine, height, kernel, stride, padding):
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding)
    needs = [(low + padding, high + padding) for low, high in needs]
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
