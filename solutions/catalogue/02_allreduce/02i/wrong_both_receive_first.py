# expect: everybody waits for a message and nobody sends one
import torch


def doubling_all_reduce(comm, tensor):
    core = 2 ** (comm.world_size.bit_length() - 1)
    distance = 1
    while distance < core:
        incoming = torch.empty_like(tensor)
        comm.recv(incoming, comm.rank ^ distance)
        comm.send(tensor, comm.rank ^ distance)
        tensor += incoming
        distance *= 2
