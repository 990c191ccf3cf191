# expect: rows that it does not need itself
def halo_rows(comm, mine, height, kernel, stride, padding):
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding)
    start, stop = has[comm.rank]
    first, last = needs[comm.rank]
    rows, works = torch.zeros(last - first, mine.shape[1]), []
    rows[start - first : stop - first] = mine
    for other in range(comm.world_size):
        if other == comm.rank:
            continue
        low, high = max(start, needs[other][0]), min(stop, needs[other][1])
        if low < high:
            works.append(comm.isend(mine[low - start : high - start], other))
        low, high = max(first, has[other][0]), min(last, has[other][1])
        if low < high:
            works.append(comm.irecv(rows[low - first : high - first], other))
    for work in works:
        work.wait()
    return rows
