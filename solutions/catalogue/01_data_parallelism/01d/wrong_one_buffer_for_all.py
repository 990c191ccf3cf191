# expect: two messages may be arriving in the same memory
import torch


def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    pending = []

    def hook(layer, gradient):
        incoming = torch.empty_like(gradient)
        for rank in others:
            pending.append((gradient, incoming, comm.isend(gradient, rank), comm.irecv(incoming, rank)))

    backward(comm, gradients, seconds, hook)
    for _, _, sending, receiving in pending:
        sending.wait()
        receiving.wait()
    for gradient, incoming, _, _ in pending:
        gradient += incoming
