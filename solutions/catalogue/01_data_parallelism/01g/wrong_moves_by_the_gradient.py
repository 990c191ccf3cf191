# expect: moved by the gradient, not by the momentum
def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    all_reduce(comm, gradient)
    state.mul_(momentum).add_(gradient.tensor_split(p)[comm.rank] / p)
    return parameters - rate * gradient / p, state
