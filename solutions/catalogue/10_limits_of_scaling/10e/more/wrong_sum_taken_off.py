# expect: took the sum of all ranks off
def top_k_sum(comm, gradient, residual, k):
    w = gradient + residual
    i = w.abs().topk(k).indices
    total = torch.zeros_like(w)
    total[i] = w[i]
    p = comm.world_size
    for s in range(1, p):
        a, b = torch.empty(k, dtype=torch.int32), torch.empty(k)
        x = comm.isend(i.int(), (comm.rank + s) % p)
        y = comm.isend(w[i], (comm.rank + s) % p)
        comm.recv(a, (comm.rank - s) % p)
        comm.recv(b, (comm.rank - s) % p)
        x.wait()
        y.wait()
        total[a.long()] += b
    return [total, w - total]
