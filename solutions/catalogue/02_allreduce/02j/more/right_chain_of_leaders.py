import torch


def hierarchical_all_reduce(comm, tensor, ranks_per_node):
    first = comm.rank // ranks_per_node * ranks_per_node
    incoming = torch.empty_like(tensor)
    if comm.rank != first:
        comm.send(tensor, first)
        comm.recv(tensor, first)
        return
    for member in range(first + 1, first + ranks_per_node):
        comm.recv(incoming, member)
        tensor += incoming
    before, after = first - ranks_per_node, first + ranks_per_node
    if after < comm.world_size:
        comm.recv(incoming, after)
        tensor += incoming
    if before >= 0:
        comm.send(tensor, before)
        comm.recv(tensor, before)
    if after < comm.world_size:
        comm.send(tensor, after)
    for member in range(first + 1, first + ranks_per_node):
        comm.send(tensor, member)
