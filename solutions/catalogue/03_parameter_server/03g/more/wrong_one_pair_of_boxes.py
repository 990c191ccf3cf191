# expect: two pulls into one and the same tensor?
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
        parts = [part, part]
        versions = [pull(comm, server, parts[server]) for server in (0, 1)]
        while versions[0] != versions[1]:
            behind = versions.index(min(versions))
            versions[behind] = pull(comm, behind, parts[behind])
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
