# expect: everybody sends and nobody receives
import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    others = [r for r in range(p) if r != comm.rank]
    gs, ps = gradient.tensor_split(p), parameters.tensor_split(p)
    mean = gs[comm.rank] / p
    for r in others:
        comm.send(gs[r], r)
    for r in others:
        b = torch.empty_like(mean)
        comm.recv(b, r)
        mean += b / p
    state = momentum * state + mean
    ps[comm.rank].sub_(rate * state)
    return parameters, state
