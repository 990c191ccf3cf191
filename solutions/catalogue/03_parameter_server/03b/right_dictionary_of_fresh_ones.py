from collections import deque

import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)

    def answer(worker):
        if version == steps:
            comm.send(torch.tensor([STOP]), worker)
            stopped.add(worker)
        else:
            comm.send(torch.tensor([version]), worker)
            comm.send(parameters, worker)

    version, fresh, stopped = 0, {}, set()
    note = torch.zeros(1, dtype=torch.int64)
    while len(stopped) < comm.world_size - 1:
        worker = comm.recv(note)
        box = torch.empty_like(parameters)
        comm.recv(box, worker)
        if version < steps and int(note) == version:
            fresh[worker] = box
        else:
            answer(worker)
        if len(fresh) == take:
            parameters = parameters - torch.stack(list(fresh.values())).sum(0)
            version += 1
            order = deque(fresh)
            fresh = {}
            while order:
                answer(order.popleft())
    return parameters
