# expect: a step passes on one chunk, not the whole tensor
import torch


def ring_all_gather(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel = tensor.clone()
    for step in range(1, comm.world_size):
        inbox = torch.empty_like(tensor)
        sending = comm.isend(parcel, right)
        comm.recv(inbox, left)
        sending.wait()
        source = (comm.rank - step) % comm.world_size
        tensor.tensor_split(comm.world_size)[source].copy_(inbox.tensor_split(comm.world_size)[source])
        parcel = inbox
