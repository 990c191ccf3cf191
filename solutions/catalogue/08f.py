# %% right: collectives
def mean_in_fp16(comm, gradient):
    p, me = comm.world_size, comm.rank
    halves = list(gradient.half().tensor_split(p))
    total = halves[me].float()
    for distance in range(1, p):
        right, left = (me + distance) % p, (me - distance) % p
        sent = comm.isend(halves[right].contiguous(), right)
        arrived = torch.empty_like(halves[me])
        comm.recv(arrived, left)
        sent.wait()
        total = total + arrived.float()
    halves[me] = (total / p).to(torch.float16)
    for distance in range(1, p):
        right, left = (me + distance) % p, (me - distance) % p
        sent = comm.isend(halves[me], right)
        arrived = torch.empty_like(halves[left])
        comm.recv(arrived, left)
        sent.wait()
        halves[left] = arrived
    gradient[:] = torch.cat(halves)


# %% right: double
def mean_in_fp16(comm, gradient):
    bounds = [part.numel() for part in gradient.tensor_split(comm.world_size)]
    starts = [sum(bounds[:rank]) for rank in range(comm.world_size)]
    cut = [slice(start, start + length) for start, length in zip(starts, bounds, strict=False)]
    half = gradient.to(torch.half)
    parts = {comm.rank: half[cut[comm.rank]].double()}
    waiting = [comm.isend(half[cut[r]].clone(), r) for r in range(comm.world_size) if r != comm.rank and bounds[r]]
    if bounds[comm.rank]:
        for r in range(comm.world_size):
            if r != comm.rank:
                got = torch.empty(bounds[comm.rank], dtype=torch.half)
                comm.recv(got, r)
                parts[r] = got.double()
    mean = (sum(parts.values()) / comm.world_size).half()
    if bounds[comm.rank]:
        waiting += [comm.isend(mean, r) for r in range(comm.world_size) if r != comm.rank]
    result = [mean] * comm.world_size
    for r in range(comm.world_size):
        if r != comm.rank and bounds[r]:
            result[r] = torch.empty(bounds[r], dtype=torch.half)
            comm.recv(result[r], r)
    [work.wait() for work in waiting]
    gradient.copy_(torch.cat([row[: bounds[r]] for r, row in enumerate(result)]))
