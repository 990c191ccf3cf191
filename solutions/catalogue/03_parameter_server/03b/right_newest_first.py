import torch


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
