import torch


def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)
    rows = torch.zeros(len(times), 2 * len(part))
    for i, at_s in enumerate(times):
        wait_until(comm, at_s)
        halves = rows[i].tensor_split(2)
        v = [pull(comm, s, halves[s]) for s in (0, 1)]
        while v[0] != v[1]:
            behind = v.index(min(v))
            v[behind] = pull(comm, behind, halves[behind])
    leave(comm)
    return rows
