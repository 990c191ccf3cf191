import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)

    def receive():
        note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
        worker = comm.recv(note)
        comm.recv(gradient, worker)
        return worker, int(note), gradient

    def answer(worker, version):
        comm.send(torch.tensor([version]), worker)
        if version != STOP:
            comm.send(parameters, worker)

    busy = set(range(1, comm.world_size))
    for step in range(steps):
        fresh = {}
        while len(fresh) < take:
            worker, version, gradient = receive()
            if version == step:
                fresh[worker] = gradient
            else:
                answer(worker, step)
        parameters = parameters - torch.stack(list(fresh.values())).sum(0)
        for worker in fresh:
            answer(worker, STOP if step == steps - 1 else step + 1)
    busy -= set(fresh)
    while busy:
        worker, _, _ = receive()
        answer(worker, STOP)
        busy.remove(worker)
    return parameters
