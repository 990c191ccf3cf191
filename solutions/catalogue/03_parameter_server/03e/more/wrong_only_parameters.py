# expect: rank 0 returns two things
import torch


def staleness_aware(comm, parameters, gradients, seconds, rate):
    note = torch.zeros(1, dtype=torch.int64)
    if comm.rank > 0:
        version, answers = 0, []
        for gradient, pause in zip(gradients, seconds, strict=True):
            comm.compute(pause)
            comm.send(torch.tensor([version]), 0)
            comm.send(gradient, 0)
            comm.recv(note, 0)
            version = note.item()
            answer = torch.empty_like(parameters)
            comm.recv(answer, 0)
            answers.append(answer)
        comm.send(torch.tensor([-1]), 0)
        return answers
    gradient, version, staleness, here = torch.empty_like(parameters), 0, [], comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() < 0:
            here -= 1
            continue
        comm.recv(gradient, worker)
        staleness.append(version - note.item())
        parameters -= rate / max(staleness[-1], 1) * gradient
        version += 1
        comm.send(torch.tensor([version]), worker)
        comm.send(parameters, worker)
    return parameters
