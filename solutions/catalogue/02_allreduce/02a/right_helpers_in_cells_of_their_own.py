import torch

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
