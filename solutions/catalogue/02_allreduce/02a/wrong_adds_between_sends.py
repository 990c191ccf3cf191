# expect: 2 × rank 0 + 1 × rank 1 + 1 × rank 2
import torch


def direct_all_reduce(comm, tensor):
    for shift in range(1, comm.world_size):
        sending = comm.isend(tensor, (comm.rank + shift) % comm.world_size)
        inbox = torch.empty_like(tensor)
        comm.recv(inbox, (comm.rank - shift) % comm.world_size)
        sending.wait()
        tensor += inbox
