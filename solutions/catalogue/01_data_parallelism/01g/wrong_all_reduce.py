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
