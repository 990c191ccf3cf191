# %% right: asks_for_the_old_version
def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)
    rows = []
    for at_s in times:
        wait_until(comm, at_s)
        parts = [torch.empty_like(part), torch.empty_like(part)]
        versions = [pull(comm, server, parts[server]) for server in (0, 1)]
        if versions[0] != versions[1]:
            ahead = versions.index(max(versions))
            pull(comm, ahead, parts[ahead], min(versions))
        rows.append(torch.cat(parts))
    leave(comm)
    return rows


# %% right: rests_in_its_loop
def whole_reads(comm, part, gradients, times):
    if comm.rank < 2:
        return keep_shard(comm, part)
    if comm.rank == 2:
        return write(comm, gradients, times)
    rows = []
    for at_s in times:
        wait_until(comm, at_s)
        while True:
            parts = [torch.empty_like(part), torch.empty_like(part)]
            v = [pull(comm, s, parts[s]) for s in (1, 0)]
            if v[0] == v[1]:
                break
            comm.compute(0.3)
        rows.append(torch.cat(parts))
    leave(comm)
    return rows
