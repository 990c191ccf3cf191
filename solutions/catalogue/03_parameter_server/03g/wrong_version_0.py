# expect: gave version 0, and 1 had long been there
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
        for server in (0, 1):
            pull(comm, server, parts[server], version=0)
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
