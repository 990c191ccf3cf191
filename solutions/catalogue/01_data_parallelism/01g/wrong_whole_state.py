import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    whole = torch.zeros_like(parameters)
    whole.tensor_split(p)[comm.rank].copy_(state)
    all_reduce(comm, whole)
    all_reduce(comm, gradient)
    whole.mul_(momentum).add_(gradient / p)
    parameters -= rate * whole
    return parameters, whole
