# expect: nothing overlaps
# like: wrong_sends_at_the_end
# points: 1
import torch


def overlapped_backward(comm, gradients, seconds):
    backward(comm, gradients, seconds, lambda layer, gradient: None)
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    works, arriving = [], []
    for layer, gradient in enumerate(gradients):
        for rank in others:
            incoming = torch.empty_like(gradient)
            arriving.append((layer, incoming))
            for mine, theirs in zip(gradient.tensor_split(2), incoming.tensor_split(2), strict=True):
                works.append(comm.irecv(theirs, rank))
                works.append(comm.isend(mine, rank))
    for work in works:
        work.wait()
    for layer, incoming in arriving:
        gradients[layer] += incoming
