# %% right: from_anyone
def direct_all_reduce(comm, tensor):
    arriving = [torch.empty_like(tensor) for _ in range(comm.world_size - 1)]
    receiving = [comm.irecv(buffer) for buffer in arriving]
    sending = [comm.isend(tensor, other) for other in range(comm.world_size) if other != comm.rank]
    for work in receiving + sending:
        work.wait()
    tensor.add_(sum(arriving, torch.zeros_like(tensor)))


# %% right: helpers_in_cells_of_their_own
FIRST = 0
others = lambda comm: [rank for rank in range(FIRST, comm.world_size) if rank != comm.rank]  # noqa: E731
# %%
COUNT = 0
COUNT += 1
START = {"all": COUNT * float(0)}


# %%
def direct_all_reduce(comm, tensor):
    boxes = {rank: torch.full_like(tensor, START["all"]) for rank in others(comm)}
    work = [comm.irecv(box, rank) for rank, box in boxes.items()]
    work += [comm.isend(tensor, rank) for rank in others(comm)]
    for each in work:
        each.wait()
    for box in boxes.values():
        tensor += box


# %%
twice = direct_all_reduce  # a cell after it, which the answer does not need


# %% wrong: one_after_the_other
def direct_all_reduce(comm, tensor):
    mine = tensor.clone()
    for shift in range(1, comm.world_size):
        sending = comm.isend(mine, (comm.rank + shift) % comm.world_size)
        inbox = torch.empty_like(tensor)
        comm.recv(inbox, (comm.rank - shift) % comm.world_size)
        sending.wait()
        tensor += inbox


# %% wrong: receive_into_tensor
def direct_all_reduce(comm, tensor):
    mine, total = tensor.clone(), tensor.clone()
    for other in range(comm.world_size):
        if other != comm.rank:
            sending = comm.isend(mine, other)
            comm.recv(tensor, other)
            sending.wait()
            total += tensor


# %% wrong: through_rank_0
def direct_all_reduce(comm, tensor):
    others = range(1, comm.world_size)
    if comm.rank == 0:
        for rank in others:
            inbox = torch.empty_like(tensor)
            comm.recv(inbox, rank)
            tensor += inbox
        for rank in others:
            comm.send(tensor, rank)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
