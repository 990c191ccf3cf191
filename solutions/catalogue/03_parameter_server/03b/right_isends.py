import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)
    note = torch.zeros(1, dtype=torch.int64)
    works, here, version, held = [], comm.world_size - 1, 0, []
    while here:
        w = comm.recv(note)
        g = torch.zeros_like(parameters)
        comm.recv(g, w)
        if int(note[0]) != version or version >= steps:
            out = [w]
        else:
            held.append((w, g))
            out = []
            if len(held) >= take:
                for _, x in held:
                    parameters = parameters - x
                version += 1
                out = [x for x, _ in held]
                held = []
        for o in out:
            if version >= steps:
                works.append(comm.isend(torch.tensor([STOP]), o))
                here -= 1
            else:
                works += [comm.isend(torch.tensor([version]), o), comm.isend(parameters.clone(), o)]
    for x in works:
        x.wait()
    return parameters
