import torch


def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)

    def both(asked):
        parts = [torch.empty_like(part) for _ in range(2)]
        notes = [torch.tensor([0]) for _ in range(2)]
        works = [comm.isend(torch.tensor([asked[s]]), s) for s in (0, 1)]
        for s in (0, 1):
            works += [comm.irecv(parts[s], s), comm.irecv(notes[s], s)]
        for w in works:
            w.wait()
        return parts, [int(n) for n in notes]

    rows = []
    for at_s in times:
        wait_until(comm, at_s)
        parts, v = both([NEWEST, NEWEST])
        if v[0] != v[1]:
            parts, v = both([min(v)] * 2)
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
