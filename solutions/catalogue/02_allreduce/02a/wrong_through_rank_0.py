import torch


def direct_all_reduce(comm, tensor):
    others = range(1, comm.world_size)
    if comm.rank == 0:
        for rank in others:
            inbox = torch.empty_like(tensor)
            comm.recv(inbox, rank)
            tensor += inbox
        for rank in others:
            comm.send(tensor, rank)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
