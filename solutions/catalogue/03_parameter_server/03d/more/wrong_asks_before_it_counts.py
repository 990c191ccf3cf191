# expect: there. Count once more
# like: wrong_one_too_many
import math

import torch


def bounded_server(comm, parameters, gradients, seconds, slack):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    clocks = [math.inf] + [0] * (comm.world_size - 1)
    waiting = []
    while min(clocks) < math.inf:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            clocks[worker] = math.inf
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            waiting.append(worker)
        for other in list(waiting):
            if clocks[other] - min(clocks) <= slack:
                waiting.remove(other)
                comm.send(parameters, other)
        if note.item() != GOODBYE:
            clocks[worker] += 1
    return parameters
