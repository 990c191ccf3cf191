import torch


def ring_reduce_scatter(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel = tensor.clone()
    for _ in range(comm.world_size - 1):
        incoming = torch.empty_like(tensor)
        sending = comm.isend(parcel, right)
        comm.recv(incoming, left)
        sending.wait()
        tensor += incoming
        parcel = incoming
