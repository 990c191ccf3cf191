def part(order, rank, world_size):
    return order.tensor_split(world_size)[rank]
