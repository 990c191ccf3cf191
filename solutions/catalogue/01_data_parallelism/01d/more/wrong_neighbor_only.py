# expect: Every rank sends to each other one
import torch


def overlapped_backward(comm, gradients, seconds):
    if comm.world_size == 1:
        return backward(comm, gradients, seconds, lambda layer, g: None)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    works, arriving = [], []

    def hook(layer, gradient):
        incoming = torch.empty_like(gradient)
        works.extend([comm.irecv(incoming, left), comm.isend(gradient, right)])
        arriving.append((layer, incoming))

    backward(comm, gradients, seconds, hook)
    for w in works:
        w.wait()
    for layer, incoming in arriving:
        gradients[layer] += incoming
