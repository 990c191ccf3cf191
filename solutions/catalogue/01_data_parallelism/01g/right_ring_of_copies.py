import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, r = comm.world_size, comm.rank
    g = [c.clone() for c in gradient.tensor_split(p)]
    for step in range(1, p):
        send, keep = g[(r - step) % p], g[(r - step - 1) % p]
        w = comm.isend(send, (r + 1) % p)
        b = torch.empty_like(keep)
        comm.recv(b, (r - 1) % p)
        w.wait()
        keep += b
    state = state.mul(momentum).add_(g[r] / p)
    chunks = list(parameters.tensor_split(p))
    chunks[r] = chunks[r] - rate * state
    for step in range(p - 1):
        w = comm.isend(chunks[(r - step) % p], (r + 1) % p)
        b = torch.empty_like(chunks[(r - step - 1) % p])
        comm.recv(b, (r - 1) % p)
        w.wait()
        chunks[(r - step - 1) % p] = b
    return torch.cat(chunks), state
