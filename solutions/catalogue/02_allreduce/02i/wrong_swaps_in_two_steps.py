# expect: a swap is one step
# points: 2
import torch


def doubling_all_reduce(comm, tensor):
    core = 1 << (comm.world_size.bit_length() - 1)
    twin = comm.rank ^ core
    incoming = torch.empty_like(tensor)
    if comm.rank >= core:
        comm.send(tensor, twin)
    elif twin < comm.world_size:
        comm.recv(incoming, twin)
        tensor += incoming
    distance = 1
    while distance < core and comm.rank < core:
        partner = comm.rank ^ distance
        if comm.rank < partner:
            comm.send(tensor, partner)
            comm.recv(incoming, partner)
        else:
            comm.recv(incoming, partner)
            comm.send(tensor, partner)
        tensor += incoming
        distance *= 2
    if comm.rank >= core:
        comm.recv(tensor, twin)
    elif twin < comm.world_size:
        comm.send(tensor, twin)
