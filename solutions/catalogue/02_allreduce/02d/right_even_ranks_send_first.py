import math

import torch


def ring_all_reduce(comm, tensor):
    p, r = comm.world_size, comm.rank
    size = max(1, math.ceil(tensor.numel() / p))
    chunks = [tensor[i * size : (i + 1) * size] for i in range(p)]  # the last ones may be short or empty

    def swap(give, take):
        if r % 2 == 0:
            comm.send(give, (r + 1) % p)
        comm.recv(take, (r - 1) % p)
        if r % 2:
            comm.send(give, (r + 1) % p)

    for s in range(p - 1):
        arrived = torch.empty_like(chunks[(r - s - 1) % p])
        swap(chunks[(r - s) % p], arrived)
        chunks[(r - s - 1) % p] += arrived
    for s in range(p - 1):
        swap(chunks[(r - s + 1) % p], chunks[(r - s) % p])
