# expect: the gradient comes in whole
import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    gradients, shards = (each.tensor_split(comm.world_size) for each in (gradient, parameters))
    sends = [comm.isend(gradients[rank], rank) for rank in others]
    mean = gradients[comm.rank].clone()
    for rank in others:
        incoming = torch.empty_like(mean)
        comm.recv(incoming, rank)
        mean += incoming
    mean /= comm.world_size
    for work in sends:
        work.wait()
    state = momentum * state + (1 - momentum) * mean
    shards[comm.rank].sub_(rate * state)
    sends = [comm.isend(shards[comm.rank], rank) for rank in others]
    for rank in others:
        comm.recv(shards[rank], rank)
    for work in sends:
        work.wait()
    return parameters, state
