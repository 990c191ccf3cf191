def top_k_sum(comm, gradient, residual, k):
    waits = gradient.clone().add_(residual)
    indices = torch.argsort(waits.abs(), descending=True)[:k]
    places, values = indices.to(torch.int32), waits[indices].clone()
    waits[indices] = 0
    total = torch.zeros(len(gradient)).index_add(0, indices, values)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for _ in range(comm.world_size - 1):  # every message goes round the ring
        sent = [comm.isend(places, right), comm.isend(values, right)]
        places, values = torch.empty_like(places), torch.empty_like(values)
        comm.recv(places, left)
        comm.recv(values, left)
        [each.wait() for each in sent]
        total.index_add_(0, places.long(), values)
    return total, waits
