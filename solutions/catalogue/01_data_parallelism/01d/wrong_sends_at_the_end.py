# expect: nothing overlaps
# points: 1
import torch


def overlapped_backward(comm, gradients, seconds):
    ready = []
    backward(comm, gradients, seconds, lambda layer, gradient: ready.append(layer))
    works, arrived = [], []
    for layer in ready:
        for rank in range(comm.world_size):
            if rank != comm.rank:
                incoming = torch.empty_like(gradients[layer])
                works += [comm.irecv(incoming, rank), comm.isend(gradients[layer], rank)]
                arrived.append((layer, incoming))
    for work in works:
        work.wait()
    for layer, incoming in arrived:
        gradients[layer] += incoming
