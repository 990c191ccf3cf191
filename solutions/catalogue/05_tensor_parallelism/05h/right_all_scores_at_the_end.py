def ring_attention(comm, q, k, v):
    seen = [torch.stack([k, v])]
    for _ in range(comm.world_size - 1):
        box = torch.empty_like(seen[0])
        come = comm.irecv(box, (comm.rank - 1) % comm.world_size)
        comm.send(seen[-1], (comm.rank + 1) % comm.world_size)
        come.wait()
        seen.append(box)
    keys, values = torch.cat(seen, 1)
    return torch.outer(q, keys).softmax(1) @ values
