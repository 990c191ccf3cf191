import torch


def average_gradient(comm, gradient, examples):
    total = examples * gradient if examples else torch.zeros_like(gradient)
    message = torch.cat([total, torch.tensor([float(examples)])])
    if comm.rank:
        comm.send(message, 0)
    else:
        buf = torch.empty_like(message)
        for r in range(1, comm.world_size):
            comm.recv(buf, r)
            message += buf
        gradient.copy_(message[:-1] / message[-1])
