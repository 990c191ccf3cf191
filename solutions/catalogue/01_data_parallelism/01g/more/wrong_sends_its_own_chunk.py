# expect: each rank must send it the chunk that *it* owns
import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p = comm.world_size
    others = [r for r in range(p) if r != comm.rank]
    gs, ps = gradient.tensor_split(p), parameters.tensor_split(p)
    bufs = [torch.empty_like(ps[r]) for r in others]
    ws = [comm.irecv(b, r) for b, r in zip(bufs, others, strict=True)] + [comm.isend(gs[comm.rank], r) for r in others]
    for w in ws:
        w.wait()
    state = momentum * state + (gs[comm.rank] + sum(bufs)) / p
    ps[comm.rank].sub_(rate * state)
    ws = [comm.irecv(ps[r], r) for r in others] + [comm.isend(ps[comm.rank], r) for r in others]
    for w in ws:
        w.wait()
    return parameters, state
