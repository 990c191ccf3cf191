import numpy as np
import torch


def bounded_server(comm, parameters, gradients, seconds, slack):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    n = comm.world_size
    clocks, wait = np.zeros(n), np.zeros(n, dtype=bool)
    clocks[0] = np.inf
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    while np.isfinite(clocks).any():
        w = comm.recv(note)
        if int(note) == GOODBYE:
            clocks[w] = np.inf
        else:
            comm.recv(gradient, w)
            parameters -= gradient
            clocks[w] += 1
            wait[w] = True
        go = wait & (clocks <= clocks.min() + slack)
        for o in np.flatnonzero(go):
            comm.send(parameters, int(o))
        wait &= ~go
    return parameters
