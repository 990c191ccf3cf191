import torch


def direct_all_reduce(comm, tensor):
    mine = tensor.clone()
    for shift in range(1, comm.world_size):
        sending = comm.isend(mine, (comm.rank + shift) % comm.world_size)
        inbox = torch.empty_like(tensor)
        comm.recv(inbox, (comm.rank - shift) % comm.world_size)
        sending.wait()
        tensor += inbox
