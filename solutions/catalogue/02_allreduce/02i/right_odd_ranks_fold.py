import torch


def doubling_all_reduce(comm, tensor):
    """The first 2 * surplus ranks pair up, and the even one of each pair sits out."""
    core = 1
    while 2 * core <= comm.world_size:
        core *= 2
    surplus, r = comm.world_size - core, comm.rank
    other = torch.zeros_like(tensor)
    if r < 2 * surplus and r % 2 == 0:
        comm.send(tensor, r + 1)
        comm.recv(tensor, r + 1)
        return tensor
    if r < 2 * surplus:
        comm.recv(other, r - 1)
        tensor.add_(other)
    number = r // 2 if r < 2 * surplus else r - surplus
    for bit in range(core.bit_length() - 1):
        partner = number ^ (1 << bit)
        rank = 2 * partner + 1 if partner < surplus else partner + surplus
        works = [comm.isend(tensor.clone(), rank), comm.irecv(other, rank)]
        for work in works:
            work.wait()
        tensor.add_(other)
    if r < 2 * surplus:
        comm.send(tensor, r - 1)
    return tensor
