import torch


def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    sends = []
    backward(comm, gradients, seconds, lambda layer, grad: sends.extend(comm.isend(grad.clone(), r) for r in others))
    for layer in reversed(range(len(gradients))):
        for rank in others:
            incoming = torch.empty_like(gradients[layer])
            comm.recv(incoming, rank)
            gradients[layer] += incoming
    for work in sends:
        work.wait()
