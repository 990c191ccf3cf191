# expect: two messages may be arriving in the same memory
import torch


def direct_all_reduce(comm, tensor):
    """Right in a simulator that delivers in order; on real processes two messages race for the box."""
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    box = torch.empty_like(tensor)
    receiving = [comm.irecv(box, rank) for rank in others]
    sending = [comm.isend(tensor, rank) for rank in others]
    total = tensor.clone()
    for work in receiving:
        work.wait()
        total += box
    for work in sending:
        work.wait()
    tensor.copy_(total)
