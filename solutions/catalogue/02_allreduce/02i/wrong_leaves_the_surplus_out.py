# expect: rank 2 is missing
import torch


def doubling_all_reduce(comm, tensor):
    core = 2 ** (comm.world_size.bit_length() - 1)
    distance = 1
    while distance < core and comm.rank < core:
        incoming = torch.empty_like(tensor)
        sending = comm.isend(tensor, comm.rank ^ distance)
        comm.recv(incoming, comm.rank ^ distance)
        sending.wait()
        tensor += incoming
        distance *= 2
    if comm.rank >= core:
        comm.recv(tensor, comm.rank - core)
    elif comm.rank + core < comm.world_size:
        comm.send(tensor, comm.rank + core)
