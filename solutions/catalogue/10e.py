# %% right: around
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


# %% right: one_message
def top_k_sum(comm, gradient, residual, k):
    wanted = [g + r for g, r in zip(gradient.tolist(), residual.tolist(), strict=True)]
    order = sorted(range(len(wanted)), key=lambda place: abs(wanted[place]))[-k:]
    message = torch.tensor([*order, *[wanted[place] for place in order]], dtype=torch.float32)
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    messages, sends = [message], [comm.isend(message, rank) for rank in others]
    for rank in others:
        messages.append(torch.empty(2 * k))
        comm.recv(messages[-1], rank)
    for send in sends:
        send.wait()
    total = [0.0] * len(wanted)
    for each in messages:
        for place, value in zip(each[:k].tolist(), each[k:].tolist(), strict=True):
            total[int(place)] += value
    return total, [0.0 if place in order else x for place, x in enumerate(wanted)]


# %% wrong: sends_zeros
def top_k_sum(comm, gradient, residual, k):
    wanted = gradient + residual
    places = wanted.abs().topk(k).indices
    row = torch.zeros_like(wanted)
    row[places] = wanted[places]
    left = wanted - row
    all_reduce(comm, row)
    return [row, left]
