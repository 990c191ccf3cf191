# expect: list index out of range
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
    leader = members[1]
    if comm.rank == leader:
        ring(comm, tensor, list(range(1, comm.world_size, ranks_per_node)))
        for member in members:
            if member != leader:
                comm.send(tensor, member)
    else:
        comm.recv(tensor, leader)
