"""Sends empty messages that nobody asked for, without end."""


def ring_sum(comm, tensor):
    while True:
        comm.isend(torch.empty(0), (comm.rank + 1) % max(comm.world_size, 2))
