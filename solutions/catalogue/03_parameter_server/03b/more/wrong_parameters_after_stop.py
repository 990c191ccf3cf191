# expect: it waits for nothing more
import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    version, total, waiting, here = 0, torch.zeros_like(parameters), [], comm.world_size - 1
    while here:
        w = comm.recv(note)
        comm.recv(gradient, w)
        ready = [w]
        if note.item() == version and version < steps:
            total += gradient
            waiting.append(w)
            ready = []
            if len(waiting) == take:
                parameters -= total
                total.zero_()
                version += 1
                ready, waiting = waiting, []
        for o in ready:
            if version == steps:
                comm.send(torch.tensor([STOP]), o)
                comm.send(parameters, o)
                here -= 1
            else:
                comm.send(torch.tensor([version]), o)
                comm.send(parameters, o)
    return parameters
