# %% right: dictionary_of_fresh_ones
from collections import deque


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


# %% right: newest_first
def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)
    note, version, step, stopped = torch.zeros(1, dtype=torch.int64), 0, [], 0
    while stopped < comm.world_size - 1:
        gradient = torch.zeros_like(parameters)
        worker = comm.recv(note)
        comm.recv(gradient, worker)
        if int(note) < version:
            answered = [worker]
        else:
            step.insert(0, (worker, gradient))
            answered = []
        if len(step) == take:
            version += 1
            for waiting, fresh in step:
                parameters = parameters - fresh
                answered.append(waiting)
            step = []
        for waiting in answered:
            comm.isend(torch.tensor([version if version < steps else STOP]), waiting).wait()
            if version < steps:
                comm.isend(parameters, waiting).wait()
            else:
                stopped += 1
    return parameters
