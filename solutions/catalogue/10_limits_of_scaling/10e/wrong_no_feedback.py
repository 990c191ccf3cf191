# expect: left its residual out
def top_k_sum(comm, gradient, residual, k):
    wanted = gradient.clone()
    places = wanted.abs().topk(k).indices
    total = torch.zeros_like(wanted)
    total[places] = wanted[places]
    left = wanted.index_fill(0, places, 0.0)
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    sends = [comm.isend(part, rank) for rank in others for part in (places.int(), wanted[places])]
    for rank in others:
        arrived, values = torch.empty(k, dtype=torch.int32), torch.empty(k)
        comm.recv(arrived, rank)
        comm.recv(values, rank)
        total[arrived.long()] += values
    for send in sends:
        send.wait()
    return [total, left]
