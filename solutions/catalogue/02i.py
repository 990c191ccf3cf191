# %% right: high_ranks_fold
def doubling_all_reduce(comm, tensor):
    core = 2 ** (comm.world_size.bit_length() - 1)
    incoming = torch.empty_like(tensor)
    if comm.rank >= core:
        comm.send(tensor, comm.rank - core)
        comm.recv(tensor, comm.rank - core)
        return
    if comm.rank + core < comm.world_size:
        comm.recv(incoming, comm.rank + core)
        tensor += incoming
    distance = 1
    while distance < core:
        sending = comm.isend(tensor, comm.rank ^ distance)
        comm.recv(incoming, comm.rank ^ distance)
        sending.wait()
        tensor += incoming
        distance *= 2
    if comm.rank + core < comm.world_size:
        comm.send(tensor, comm.rank + core)


# %% right: odd_ranks_fold
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


# %% wrong: dissemination
def doubling_all_reduce(comm, tensor):
    distance = 1
    while distance < comm.world_size:
        incoming = torch.empty_like(tensor)
        sending = comm.isend(tensor, (comm.rank + distance) % comm.world_size)
        comm.recv(incoming, (comm.rank - distance) % comm.world_size)
        sending.wait()
        tensor += incoming
        distance *= 2


# %% wrong: powers_of_two_only
def doubling_all_reduce(comm, tensor):
    distance = 1
    while distance < comm.world_size:
        incoming = torch.empty_like(tensor)
        sending = comm.isend(tensor, comm.rank ^ distance)
        comm.recv(incoming, comm.rank ^ distance)
        sending.wait()
        tensor += incoming
        distance *= 2


# %% wrong: tree
def doubling_all_reduce(comm, tensor):
    incoming = torch.empty_like(tensor)
    levels = [2**k for k in range(10) if 2**k < comm.world_size]
    for distance in levels:
        if comm.rank % (2 * distance) == distance:
            comm.send(tensor, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.world_size:
            comm.recv(incoming, comm.rank + distance)
            tensor += incoming
    for distance in reversed(levels):
        if comm.rank % (2 * distance) == distance:
            comm.recv(tensor, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.world_size:
            comm.send(tensor, comm.rank + distance)
