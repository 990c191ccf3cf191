import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, me = comm.world_size, comm.rank
    gs, ps = gradient.tensor_split(p), parameters.tensor_split(p)
    acc = gs[me].clone()
    for k in range(1, p):
        b = torch.empty_like(acc)
        s = comm.isend(gs[(me + k) % p], (me + k) % p)
        comm.recv(b, (me - k) % p)
        s.wait()
        acc += b
    state.mul_(momentum).add_(acc, alpha=1 / p)
    ps[me].add_(state, alpha=-rate)
    for k in range(1, p):
        s = comm.isend(ps[me], (me + k) % p)
        comm.recv(ps[(me - k) % p], (me - k) % p)
        s.wait()
    return [parameters, state]
