# expect: gave version 0, and 1 had long been there
# like: wrong_version_0
import torch


def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)
    rows = []
    for at_s in times:
        wait_until(comm, at_s)
        parts = [torch.empty_like(part), torch.empty_like(part)]
        v = [pull(comm, s, parts[s]) for s in (0, 1)]
        if v[0] != v[1] and rows:
            rows.append(rows[-1])
        else:
            rows.append(torch.cat(parts))
    leave(comm)
    return rows
