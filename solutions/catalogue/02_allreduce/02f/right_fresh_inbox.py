import torch


def mended_ring(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel, total = tensor, tensor.clone()
    for _ in range(comm.world_size - 1):
        inbox = torch.empty_like(tensor)
        sending = comm.isend(parcel, right)
        comm.recv(inbox, left)
        sending.wait()
        total += inbox
        parcel = inbox
    tensor.copy_(total)
