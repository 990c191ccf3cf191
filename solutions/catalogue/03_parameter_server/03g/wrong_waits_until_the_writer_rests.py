# expect: no way to read
import torch


def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)
    rows = []
    for _ in times:
        wait_until(comm, 70.0)
        parts = [torch.empty_like(part), torch.empty_like(part)]
        for s in (0, 1):
            pull(comm, s, parts[s])
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
