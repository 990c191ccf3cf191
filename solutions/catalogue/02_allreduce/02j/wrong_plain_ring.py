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
    ring(comm, tensor, list(range(comm.world_size)))
