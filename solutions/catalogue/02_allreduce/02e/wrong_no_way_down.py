# expect: the way down is missing
import torch


def tree_all_reduce(comm, tensor):
    distance = 1
    while distance < comm.world_size:
        if comm.rank % (2 * distance) == distance:
            comm.send(tensor, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.world_size:
            incoming = torch.empty_like(tensor)
            comm.recv(incoming, comm.rank + distance)
            tensor += incoming
        distance *= 2
