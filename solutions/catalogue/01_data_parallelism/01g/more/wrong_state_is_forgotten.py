# expect: left its momentum as it was
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    all_reduce(comm, gradient)
    new_state = momentum * state + gradient.tensor_split(p)[comm.rank] / p
    weights = parameters.tensor_split(p)
    weights[comm.rank].sub_(rate * new_state)
    for rank in set(range(p)) - {comm.rank}:
        weights[rank].zero_()
    all_reduce(comm, parameters)
    return parameters, state
