import torch


def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    works, arriving = [], []

    def on_gradient_ready(layer, gradient):
        for rank in others:
            incoming = torch.empty_like(gradient)
            arriving.append((layer, incoming))
            for mine, theirs in zip(gradient.tensor_split(2), incoming.tensor_split(2), strict=True):
                works.append(comm.irecv(theirs, rank))
                works.append(comm.isend(mine, rank))

    backward(comm, gradients, seconds, on_gradient_ready)
    for work in works:
        work.wait()
    for layer, incoming in arriving:
        gradients[layer] += incoming
