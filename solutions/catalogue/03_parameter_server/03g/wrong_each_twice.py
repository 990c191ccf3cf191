# expect: they have to agree with each other
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
            while pull(comm, server, parts[server]) != pull(comm, server, parts[server]):
                pass
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
