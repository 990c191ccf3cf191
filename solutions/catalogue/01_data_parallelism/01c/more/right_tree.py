import torch


def accumulate(comm, gradients, examples):
    m = torch.cat(
        [torch.stack(gradients).T @ torch.tensor(examples, dtype=torch.float32), torch.tensor([sum(examples)])]
    )
    d = 1
    b = torch.empty_like(m)
    while d < comm.world_size:
        if comm.rank % (2 * d):
            comm.send(m, comm.rank - d)
            break
        if comm.rank + d < comm.world_size:
            comm.recv(b, comm.rank + d)
            m += b
        d *= 2
    while d >= 1:
        if comm.rank % (2 * d) == 0 and comm.rank + d < comm.world_size:
            comm.send(m, comm.rank + d)
        elif comm.rank % (2 * d) == d:
            comm.recv(m, comm.rank - d)
        d //= 2
    return m[:-1] / m[-1]
