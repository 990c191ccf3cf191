# expect: the momentum of the sum of gradients
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    all_reduce(comm, gradient)
    weights = parameters.tensor_split(p)
    state.mul_(momentum).add_(gradient.tensor_split(p)[comm.rank])
    weights[comm.rank].sub_(rate * state)
    for rank in set(range(p)) - {comm.rank}:
        weights[rank].zero_()
    all_reduce(comm, parameters)
    return parameters, state
