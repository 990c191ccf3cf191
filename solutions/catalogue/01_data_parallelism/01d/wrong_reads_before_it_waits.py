# expect: a tensor was changed while it was being sent: wait() for its isend first
import torch


def overlapped_backward(comm, gradients, seconds):
    works = []

    def on_gradient_ready(layer, gradient):
        buffers = [torch.zeros_like(gradient) for _ in range(comm.world_size)]
        for rank in range(comm.world_size):
            if rank != comm.rank:
                works.append(comm.irecv(buffers[rank], rank))
                works.append(comm.isend(gradient, rank))
        gradient += sum(buffers)

    backward(comm, gradients, seconds, on_gradient_ready)
    for work in works:
        work.wait()
