import torch


def staleness_aware(comm, parameters, gradients, seconds, rate):
    if comm.rank > 0:
        answers = []
        for gradient, pause in zip(gradients, seconds, strict=True):
            comm.compute(pause)
            comm.send(torch.ones(1), 0)
            comm.send(gradient, 0)
            comm.recv(answer := torch.empty_like(gradient), 0)
            answers.append(answer)
        comm.send(torch.zeros(1), 0)
        return answers
    flag, gradient, ages = torch.zeros(1), torch.empty_like(parameters), []
    seen = dict.fromkeys(range(1, comm.world_size), 0)
    while seen:
        worker = comm.recv(flag)
        if not flag:
            del seen[worker]
            continue
        comm.recv(gradient, worker)
        ages.append(len(ages) - seen[worker])
        parameters.sub_(gradient, alpha=rate / max(1, ages[-1]))
        seen[worker] = len(ages)
        comm.send(parameters, worker)
    return parameters, ages
