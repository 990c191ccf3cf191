import torch


def doubling_all_reduce(comm, tensor):
    incoming = torch.empty_like(tensor)
    levels = [2**k for k in range(10) if 2**k < comm.world_size]
    for distance in levels:
        if comm.rank % (2 * distance) == distance:
            comm.send(tensor, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.world_size:
            comm.recv(incoming, comm.rank + distance)
            tensor += incoming
    for distance in reversed(levels):
        if comm.rank % (2 * distance) == distance:
            comm.recv(tensor, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.world_size:
            comm.send(tensor, comm.rank + distance)
