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
        first = second = None
        while first is None or first != second:
            second = pull(comm, 1, parts[1])
            first = pull(comm, 0, parts[0])
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
