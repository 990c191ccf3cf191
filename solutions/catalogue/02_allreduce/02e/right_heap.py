import torch


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
