import torch


def average_gradient(comm, gradient, examples):
    """Each with each: every rank learns all numbers and all gradients in one step."""
    message = torch.cat([torch.tensor([float(examples)]), gradient])
    messages = [torch.empty_like(message) for _ in range(comm.world_size)]
    works = []
    for rank in range(comm.world_size):
        if rank != comm.rank:
            works += [comm.irecv(messages[rank], rank), comm.isend(message, rank)]
    for work in works:
        work.wait()
    messages[comm.rank] = message
    total = sum(float(each[0]) for each in messages)
    gradient.zero_()
    for each in messages:
        if each[0] > 0:
            gradient += each[0] / total * each[1:]
