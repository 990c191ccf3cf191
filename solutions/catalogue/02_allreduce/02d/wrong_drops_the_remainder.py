import torch


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
