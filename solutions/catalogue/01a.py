# %% right: mask
def part(order, rank, world_size):
    places = torch.arange(len(order))
    return torch.masked_select(order, places % world_size == rank)


# %% right: tensor_split
def part(order, rank, world_size):
    return order.tensor_split(world_size)[rank]


# %% right by night: list_of_tensors
def part(order, rank, world_size):
    return [order[i] for i in range(rank, len(order), world_size)]
