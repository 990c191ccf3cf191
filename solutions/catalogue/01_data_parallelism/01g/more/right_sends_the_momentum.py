import torch


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
