import torch


def mended_ring(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel, inbox = tensor.clone(), torch.empty_like(tensor)
    for _ in range(comm.world_size - 1):
        sending = comm.isend(parcel, right)
        comm.recv(inbox, left)
        sending.wait()
        tensor += inbox
        parcel, inbox = inbox, parcel
