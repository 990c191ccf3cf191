# expect: asked servers 0, 1, 0, 1, 0, 1,
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
        for _ in range(3):
            v = [pull(comm, s, parts[s]) for s in (0, 1)]
            if v[0] == v[1]:
                break
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
