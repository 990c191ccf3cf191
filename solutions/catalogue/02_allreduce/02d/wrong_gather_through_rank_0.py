import torch


def ring_all_reduce(comm, tensor):
    if comm.rank == 0:
        for rank in range(1, comm.world_size):
            incoming = torch.empty_like(tensor)
            comm.recv(incoming, rank)
            tensor += incoming
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, comm.rank - 1)
    if comm.rank < comm.world_size - 1:
        comm.send(tensor, comm.rank + 1)
