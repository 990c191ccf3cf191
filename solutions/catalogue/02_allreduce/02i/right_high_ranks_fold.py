import torch


def doubling_all_reduce(comm, tensor):
    core = 2 ** (comm.world_size.bit_length() - 1)
    incoming = torch.empty_like(tensor)
    if comm.rank >= core:
        comm.send(tensor, comm.rank - core)
        comm.recv(tensor, comm.rank - core)
        return
    if comm.rank + core < comm.world_size:
        comm.recv(incoming, comm.rank + core)
        tensor += incoming
    distance = 1
    while distance < core:
        sending = comm.isend(tensor, comm.rank ^ distance)
        comm.recv(incoming, comm.rank ^ distance)
        sending.wait()
        tensor += incoming
        distance *= 2
    if comm.rank + core < comm.world_size:
        comm.send(tensor, comm.rank + core)
