# %% right: even_ranks_send_first
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


# %% right: one_parcel_travels
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


# %% wrong: whole_tensor
def ring_reduce_scatter(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parcel = tensor.clone()
    for _ in range(comm.world_size - 1):
        incoming = torch.empty_like(tensor)
        sending = comm.isend(parcel, right)
        comm.recv(incoming, left)
        sending.wait()
        tensor += incoming
        parcel = incoming
