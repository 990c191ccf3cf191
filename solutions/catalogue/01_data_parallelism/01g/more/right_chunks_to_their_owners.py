import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    outgoing, weights = gradient.tensor_split(comm.world_size), parameters.tensor_split(comm.world_size)
    buffers = [torch.empty_like(state) for _ in others]
    works = [comm.irecv(buffer, rank) for buffer, rank in zip(buffers, others, strict=True)]
    works += [comm.isend(outgoing[rank], rank) for rank in others]
    for work in works:
        work.wait()
    mean = (outgoing[comm.rank] + sum(buffers)) / comm.world_size
    state.mul_(momentum).add_(mean)
    weights[comm.rank].sub_(rate * state)
    works = [comm.irecv(weights[rank], rank) for rank in others]
    works += [comm.isend(weights[comm.rank], rank) for rank in others]
    for work in works:
        work.wait()
    return parameters, state
