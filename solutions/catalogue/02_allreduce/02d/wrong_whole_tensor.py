# expect: rank 0 sent 320 bytes, 224 are enough: a step passes on one chunk
import torch


def ring_all_reduce(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel = tensor.clone()
    for _ in range(comm.world_size - 1):
        incoming = torch.empty_like(tensor)
        sending = comm.isend(parcel, right)
        comm.recv(incoming, left)
        sending.wait()
        tensor += incoming
        parcel = incoming
