import torch


def ring_reduce_scatter(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = list(torch.chunk(tensor, p)) if tensor.numel() % p == 0 else list(torch.tensor_split(tensor, p))
    number = (r - 1) % p
    for _ in range(p - 1):
        buffer = torch.zeros_like(chunks[(number - 1) % p])
        if r % 2 == 0:
            comm.send(chunks[number], (r + 1) % p)
            comm.recv(buffer, (r - 1) % p)
        else:
            comm.recv(buffer, (r - 1) % p)
            comm.send(chunks[number], (r + 1) % p)
        number = (number - 1) % p
        chunks[number] += buffer
