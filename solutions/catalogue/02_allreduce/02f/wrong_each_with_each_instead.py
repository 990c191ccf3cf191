# expect: here a rank sends only to its right neighbor
import torch


def mended_ring(comm, tensor):
    mine = tensor.clone()
    for shift in range(1, comm.world_size):
        sending = comm.isend(mine, (comm.rank + shift) % comm.world_size)
        incoming = torch.empty_like(tensor)
        comm.recv(incoming, (comm.rank - shift) % comm.world_size)
        sending.wait()
        tensor += incoming
