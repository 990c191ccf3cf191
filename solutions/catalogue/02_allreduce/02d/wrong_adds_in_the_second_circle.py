import torch


def ring_all_reduce(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = tensor.tensor_split(p)
    for step in range(2 * (p - 1)):
        incoming = torch.empty_like(chunks[(r - step - 1) % p])
        sending = comm.isend(chunks[(r - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        chunks[(r - step - 1) % p].add_(incoming)
