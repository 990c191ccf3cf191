# %% right: even_ranks_send_first
import math


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


# %% right: padded_to_equal_chunks
import torch.nn.functional


def ring_all_reduce(comm, tensor):
    p, r, n = comm.world_size, comm.rank, tensor.numel()
    size = -(-n // p)
    table = torch.nn.functional.pad(tensor, (0, size * p - n)).reshape(p, size)
    for step in range(2 * (p - 1)):
        give, take = (r - step) % p, (r - step - 1) % p
        buffer = torch.empty(size)
        receiving = comm.irecv(buffer, (r - 1) % p)
        comm.send(table[give], (r + 1) % p)
        receiving.wait()
        table[take] = buffer + table[take] if step < p - 1 else buffer
    tensor.copy_(table.reshape(-1)[:n])
    return tensor


# %% wrong: adds_in_the_second_circle
def ring_all_reduce(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = tensor.tensor_split(p)
    for step in range(2 * (p - 1)):
        incoming = torch.empty_like(chunks[(r - step - 1) % p])
        sending = comm.isend(chunks[(r - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        chunks[(r - step - 1) % p].add_(incoming)


# %% wrong: drops_the_remainder
def ring_all_reduce(comm, tensor):
    p, r = comm.world_size, comm.rank
    size = tensor.numel() // p
    chunks = [tensor[i * size : (i + 1) * size] for i in range(p)]
    for step in range(2 * (p - 1)):
        arriving = chunks[(r - step - 1) % p]
        incoming = torch.empty_like(arriving)
        sending = comm.isend(chunks[(r - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        arriving.add_(incoming) if step < p - 1 else arriving.copy_(incoming)


# %% wrong: gather_through_rank_0
def ring_all_reduce(comm, tensor):
    if comm.rank == 0:
        for rank in range(1, comm.world_size):
            incoming = torch.empty_like(tensor)
            comm.recv(incoming, rank)
            tensor += incoming
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, comm.rank - 1)
    if comm.rank < comm.world_size - 1:
        comm.send(tensor, comm.rank + 1)
