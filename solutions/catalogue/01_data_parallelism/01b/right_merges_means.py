import torch


def merge(m1, n1, m2, n2):
    n = n1 + n2
    return ((m1 * n1 + m2 * n2) / n if n else m1), n


def average_gradient(comm, gradient, examples):
    if examples == 0:
        gradient.zero_()
    message = torch.cat([gradient, torch.tensor([float(examples)])])
    if comm.rank > 0:
        comm.send(message, 0)
        comm.recv(message, 0)
    else:
        other = torch.empty_like(message)
        for r in range(1, comm.world_size):
            comm.recv(other, r)
            m, n = merge(message[:-1], message[-1], other[:-1], other[-1])
            message = torch.cat([m, n.reshape(1)])
        for r in range(1, comm.world_size):
            comm.send(message, r)
    gradient.copy_(message[:-1])
