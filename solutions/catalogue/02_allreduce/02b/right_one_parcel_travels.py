import torch


def ring_reduce_scatter(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = tensor.tensor_split(p)
    parcel = chunks[r - 1].clone()
    for chunk in range(r - 2, r - 1 - p, -1):
        inbox = torch.empty(len(chunks[chunk % p]), dtype=tensor.dtype)
        works = [comm.irecv(inbox, (r - 1) % p), comm.isend(parcel, (r + 1) % p)]
        for work in works:
            work.wait()
        parcel = inbox + chunks[chunk % p]
    chunks[r].copy_(parcel)
