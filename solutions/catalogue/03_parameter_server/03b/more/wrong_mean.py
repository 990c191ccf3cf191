# expect: was subtracted 0.5 times
import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    version, total, waiting = 0, torch.zeros_like(parameters), []
    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        comm.recv(gradient, worker)
        ready = [worker]
        if note.item() == version:
            total += gradient
            waiting.append(worker)
            ready = []
            if len(waiting) == take:
                parameters -= total / take
                version += 1
                ready, waiting = waiting, []
                total.zero_()
        for other in ready:
            if version == steps:
                comm.send(torch.tensor([STOP]), other)
                here -= 1
            else:
                comm.send(torch.tensor([version]), other)
                comm.send(parameters, other)
    return parameters
