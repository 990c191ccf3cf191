import torch


def staleness_aware(comm, parameters, gradients, seconds, rate):
    if comm.rank > 0:
        v, out = torch.tensor([0]), []
        for i in range(len(gradients)):
            comm.compute(seconds[i])
            a, b = comm.isend(v, 0), comm.isend(gradients[i], 0)
            a.wait()
            b.wait()
            box = torch.empty_like(parameters)
            v = torch.empty_like(v)
            c, d = comm.irecv(v, 0), comm.irecv(box, 0)
            c.wait()
            d.wait()
            out.append(box)
        comm.send(torch.tensor([-7]), 0)
        return out
    seen, note, g, updates = [], torch.tensor([0]), torch.empty_like(parameters), 0
    left = comm.world_size - 1
    while left > 0:
        who = comm.recv(note)
        if note < 0:
            left -= 1
        else:
            comm.recv(g, who)
            age = updates - note.item()
            seen.append(age)
            parameters.sub_(g, alpha=rate / (age or 1))
            updates += 1
            comm.send(torch.tensor([updates]), who)
            comm.send(parameters, who)
    return [parameters, torch.tensor(seen)]
