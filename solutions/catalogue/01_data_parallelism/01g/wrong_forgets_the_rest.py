# expect: holds 13 elements of momentum
import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    n = len(parameters) // p
    others = [r for r in range(p) if r != comm.rank]

    def cut(t, r):
        return t[r * n : (r + 1) * n]

    mine = cut(parameters, comm.rank)
    bufs = [torch.empty_like(mine) for _ in others]
    ws = [comm.irecv(b, r) for b, r in zip(bufs, others, strict=True)] + [
        comm.isend(cut(gradient, r), r) for r in others
    ]
    for w in ws:
        w.wait()
    state = momentum * state[:n] + (cut(gradient, comm.rank) + sum(bufs)) / p
    mine -= rate * state
    ws = [comm.irecv(cut(parameters, r), r) for r in others] + [comm.isend(mine, r) for r in others]
    for w in ws:
        w.wait()
    return parameters, state
