# expect: moved by the momentum from before this step
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    all_reduce(comm, gradient)
    weights = parameters.tensor_split(p)
    weights[comm.rank].sub_(rate * state)
    state.mul_(momentum).add_(gradient.tensor_split(p)[comm.rank] / p)
    for rank in set(range(p)) - {comm.rank}:
        weights[rank].zero_()
    all_reduce(comm, parameters)
    return parameters, state
