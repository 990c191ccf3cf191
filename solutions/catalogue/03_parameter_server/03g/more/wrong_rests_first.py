# expect: look at the two versions before you trust them
# like: wrong_pulls_once
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
        comm.compute(1.5)
        for s in (0, 1):
            pull(comm, s, parts[s])
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
