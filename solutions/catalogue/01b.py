# %% right: numpy_and_each_with_each
import numpy as np


def average_gradient(comm, gradient, examples):
    total = np.nan_to_num(gradient.numpy()) * examples
    message = torch.from_numpy(np.append(total, np.float32(examples)).astype(np.float64))
    everything = [torch.empty_like(message) for _ in range(comm.world_size)]
    works = []
    for other in range(comm.world_size):
        if other != comm.rank:
            works.append(comm.isend(message, other))
            works.append(comm.irecv(everything[other], other))
        else:
            everything[other] = message.clone()
    for w in works:
        w.wait()
    s = sum(everything)
    gradient[:] = (s[:-1] / s[-1]).float()


# %% right: receives_from_anyone
def average_gradient(comm, gradient, examples):
    if not examples:
        gradient.fill_(0)
    m = torch.cat((gradient * examples, torch.ones(1) * examples))
    if comm.rank == comm.world_size - 1:
        b = torch.empty_like(m)
        for _ in range(comm.world_size - 1):
            comm.recv(b)
            m += b
        for r in range(comm.world_size - 1):
            comm.isend(m, r).wait()
    else:
        comm.isend(m, comm.world_size - 1).wait()
        comm.recv(m, comm.world_size - 1)
    gradient.copy_(m[:-1] / m[-1])


# %% right by night: share_of_all
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


# %% wrong: rank_0_keeps_it
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
