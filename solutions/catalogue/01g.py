# %% right: padded_and_new
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, sizes = comm.world_size, [len(chunk) for chunk in parameters.tensor_split(comm.world_size)]
    longest = max(sizes)

    def swap(outgoing):
        """outgoing[r] for rank r, padded; what came from each, in order."""
        boxes = [torch.zeros(longest) for _ in range(p)]
        works = []
        for rank in set(range(p)) - {comm.rank}:
            padded = torch.zeros(longest)
            padded[: len(outgoing[rank])] = outgoing[rank]
            works += [comm.isend(padded, rank), comm.irecv(boxes[rank], rank)]
        for work in works:
            work.wait()
        boxes[comm.rank][: len(outgoing[comm.rank])] = outgoing[comm.rank]
        return boxes

    total = sum(swap(gradient.tensor_split(p)))[: sizes[comm.rank]]
    new_state = momentum * state + total / p
    shard = parameters.tensor_split(p)[comm.rank] - rate * new_state
    boxes = swap([shard] * p)
    return torch.cat([box[:size] for box, size in zip(boxes, sizes, strict=True)]), new_state


# %% right: rings
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, r = comm.world_size, comm.rank
    chunks, weights = gradient.tensor_split(p), parameters.tensor_split(p)
    for step in range(p - 1):
        here = chunks[(r - 2 - step) % p]
        incoming = torch.empty_like(here)
        sending = comm.isend(chunks[(r - 1 - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        here += incoming
    state = momentum * state + chunks[r] / p
    weights[r].sub_(rate * state)
    for step in range(p - 1):
        sending = comm.isend(weights[(r - step) % p], (r + 1) % p)
        comm.recv(weights[(r - step - 1) % p], (r - 1) % p)
        sending.wait()
    return parameters, state


# %% right by night: in_place_and_rounded
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, me = comm.world_size, comm.rank
    gs, ps = gradient.tensor_split(p), parameters.tensor_split(p)
    acc = gs[me].clone()
    for k in range(1, p):
        b = torch.empty_like(acc)
        s = comm.isend(gs[(me + k) % p], (me + k) % p)
        comm.recv(b, (me - k) % p)
        s.wait()
        acc += b
    state.mul_(momentum).add_(acc, alpha=1 / p)
    ps[me].add_(state, alpha=-rate)
    for k in range(1, p):
        s = comm.isend(ps[me], (me + k) % p)
        comm.recv(ps[(me - k) % p], (me - k) % p)
        s.wait()
    return [parameters, state]


# %% right by night: sends_the_momentum
def zero_step(comm, parameters, gradient, state, rate, momentum):
    """One pair of ranks after the other; owners hand out the momentum, and everybody moves all parameters."""
    size, me = comm.world_size, comm.rank
    pairs = [(owner, other) for owner in range(size) for other in range(size) if owner != other]
    shards = gradient.tensor_split(size)
    for owner, other in pairs:
        if me == other:
            comm.send(shards[owner].clone(), owner)
        if me == owner:
            incoming = torch.empty_like(shards[owner])
            comm.recv(incoming, other)
            shards[owner].add_(incoming)
    state = momentum * state + shards[me] / size
    full = [torch.empty_like(shard) for shard in shards]
    full[me] = state.clone()
    for owner, other in pairs:
        if me == owner:
            comm.send(full[owner], other)
        if me == other:
            comm.recv(full[owner], owner)
    return parameters - rate * torch.cat(full), state


# %% wrong: all_reduce
def zero_step(comm, parameters, gradient, state, rate, momentum):
    all_reduce(comm, gradient)
    chunks, weights = gradient.tensor_split(comm.world_size), parameters.tensor_split(comm.world_size)
    state.mul_(momentum).add_(chunks[comm.rank] / comm.world_size)
    weights[comm.rank].sub_(rate * state)
    for rank, shard in enumerate(weights):
        if rank != comm.rank:
            shard.zero_()
    all_reduce(comm, parameters)
    return parameters, state


# %% wrong: whole_state
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    whole = torch.zeros_like(parameters)
    whole.tensor_split(p)[comm.rank].copy_(state)
    all_reduce(comm, whole)
    all_reduce(comm, gradient)
    whole.mul_(momentum).add_(gradient / p)
    parameters -= rate * whole
    return parameters, whole
