import torch


def doubling_all_reduce(comm, tensor):
    distance = 1
    while distance < comm.world_size:
        incoming = torch.empty_like(tensor)
        sending = comm.isend(tensor, comm.rank ^ distance)
        comm.recv(incoming, comm.rank ^ distance)
        sending.wait()
        tensor += incoming
        distance *= 2
