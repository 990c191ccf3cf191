# expect: the all-gather of parameters is missing
def zero_step(comm, parameters, gradient, state, rate, momentum):
    all_reduce(comm, gradient)
    state.mul_(momentum).add_(gradient.tensor_split(comm.world_size)[comm.rank] / comm.world_size)
    parameters.tensor_split(comm.world_size)[comm.rank].sub_(rate * state)
    return parameters, state
