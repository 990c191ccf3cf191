def part(order, rank, world_size):
    return [order[i] for i in range(rank, len(order), world_size)]
