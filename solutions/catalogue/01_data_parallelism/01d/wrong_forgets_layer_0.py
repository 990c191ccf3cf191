# expect: never added anything to the gradient of layer 0
import torch


def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    works, arriving = [], []

    def hook(layer, gradient):
        if layer == 0:
            return
        for rank in others:
            incoming = torch.empty_like(gradient)
            works.extend([comm.irecv(incoming, rank), comm.isend(gradient, rank)])
            arriving.append((layer, incoming))

    backward(comm, gradients, seconds, hook)
    for w in works:
        w.wait()
    for layer, incoming in arriving:
        gradients[layer] += incoming
