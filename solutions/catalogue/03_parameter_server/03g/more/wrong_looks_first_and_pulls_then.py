# expect: servers 0, 1, 0, 1, in this order
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
        while pull(comm, 0, parts[0]) != pull(comm, 1, parts[1]):
            pass
        for server in (0, 1):
            pull(comm, server, parts[server])
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
