import torch


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, r = comm.world_size, comm.rank
    chunks, weights = gradient.tensor_split(p), parameters.tensor_split(p)
    for step in range(p - 1):
        here = chunks[(r - 2 - step) % p]
        incoming = torch.empty_like(here)
        sending = comm.isend(chunks[(r - 1 - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        here += incoming
    state = momentum * state + chunks[r] / p
    weights[r].sub_(rate * state)
    for step in range(p - 1):
        sending = comm.isend(weights[(r - step) % p], (r + 1) % p)
        comm.recv(weights[(r - step - 1) % p], (r - 1) % p)
        sending.wait()
    return parameters, state
