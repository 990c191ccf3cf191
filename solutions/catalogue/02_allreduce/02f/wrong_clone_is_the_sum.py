# expect: every rank still holds its own numbers
import torch


def mended_ring(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel, inbox, total = tensor.clone(), torch.empty_like(tensor), tensor.clone()
    for _ in range(comm.world_size - 1):
        sending = comm.isend(parcel, right)
        comm.recv(inbox, left)
        sending.wait()
        total += inbox
        parcel, inbox = inbox, parcel
    tensor = total
