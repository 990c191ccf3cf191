# %% right: every_place_has_a_ring
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
    """Reduce-scatter in the node, a ring of the same place in every node for each part, all-gather in the node."""
    node, place = divmod(comm.rank, ranks_per_node)
    parts = tensor.tensor_split(ranks_per_node)
    mates = [node * ranks_per_node + other for other in range(ranks_per_node) if other != place]
    arrived = [torch.empty_like(parts[place]) for _ in mates]
    works = [comm.irecv(part, mate) for part, mate in zip(arrived, mates, strict=True)]
    works += [comm.isend(parts[mate % ranks_per_node].clone(), mate) for mate in mates]
    for work in works:
        work.wait()
    for part in arrived:
        parts[place].add_(part)
    ring(comm, parts[place], list(range(place, comm.world_size, ranks_per_node)))
    works = [comm.irecv(parts[mate % ranks_per_node], mate) for mate in mates]
    works += [comm.isend(parts[place], mate) for mate in mates]
    for work in works:
        work.wait()


# %% right: ring_of_leaders
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
    node = comm.rank // ranks_per_node
    members = list(range(node * ranks_per_node, (node + 1) * ranks_per_node))
    ring(comm, tensor, members)
    if comm.rank == members[0]:
        ring(comm, tensor, list(range(0, comm.world_size, ranks_per_node)))
        for member in members[1:]:
            comm.send(tensor, member)
    else:
        comm.recv(tensor, members[0])


# %% wrong: modulo_for_the_node
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
    nodes = comm.world_size // ranks_per_node
    members = [rank for rank in range(comm.world_size) if rank % nodes == comm.rank % nodes]
    ring(comm, tensor, members)
    if comm.rank == members[0]:
        ring(comm, tensor, list(range(nodes)))
        for member in members[1:]:
            comm.send(tensor, member)
    else:
        comm.recv(tensor, members[0])


# %% wrong: plain_ring
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


# %% wrong: two_nodes_only
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
