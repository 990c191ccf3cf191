import torch


def tree_all_reduce(comm, tensor):
    incoming = torch.empty_like(tensor)
    distance, levels = 1, []
    while distance < comm.world_size:
        levels.append(distance)
        distance *= 2
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
