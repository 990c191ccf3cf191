# %% right: halves_of_halves
def tree_all_reduce(comm, tensor):
    def up_and_down(low, high, then):
        """Add up ranks low to high - 1 on low, go on above, and hand the result down again."""
        if high - low > 1:
            middle = (low + high) // 2
            if comm.rank < middle:
                up_and_down(low, middle, lambda: meet(low, middle, then))
            else:
                up_and_down(middle, high, lambda: meet(low, middle, then))
        else:
            then()

    def meet(low, middle, then):
        if comm.rank == low:
            part = torch.empty_like(tensor)
            comm.recv(part, middle)
            tensor.add_(part)
            then()
            comm.isend(tensor, middle).wait()
        elif comm.rank == middle:
            comm.send(tensor, low)
            comm.recv(tensor, low)

    up_and_down(0, comm.world_size, lambda: None)


# %% right: heap
def tree_all_reduce(comm, tensor):
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.world_size]
    parent = (comm.rank - 1) // 2
    for child in children:
        part = torch.empty_like(tensor)
        comm.recv(part, child)
        tensor.add_(part)
    if comm.rank > 0:
        comm.send(tensor, parent)
        comm.recv(tensor, parent)
    for child in children:
        comm.send(tensor, child)


# %% wrong: chain
def tree_all_reduce(comm, tensor):
    last = comm.world_size - 1
    if comm.rank < last:
        incoming = torch.empty_like(tensor)
        comm.recv(incoming, comm.rank + 1)
        tensor += incoming
    if comm.rank > 0:
        comm.send(tensor, comm.rank - 1)
        comm.recv(tensor, comm.rank - 1)
    if comm.rank < last:
        comm.send(tensor, comm.rank + 1)


# %% wrong: no_rank_alone
def tree_all_reduce(comm, tensor):
    incoming = torch.empty_like(tensor)
    if comm.rank % 2 == 1:
        comm.send(tensor, comm.rank - 1)
        comm.recv(tensor, comm.rank - 1)
    else:
        comm.recv(incoming, comm.rank + 1)
        tensor += incoming
        comm.send(tensor, comm.rank + 1)


# %% wrong: star
def tree_all_reduce(comm, tensor):
    others = range(1, comm.world_size)
    if comm.rank == 0:
        parts = [torch.empty_like(tensor) for _ in others]
        works = [comm.irecv(part, rank) for part, rank in zip(parts, others, strict=True)]
        for work, part in zip(works, parts, strict=True):
            work.wait()
            tensor += part
        works = [comm.isend(tensor, rank) for rank in others]
        for work in works:
            work.wait()
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
