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
