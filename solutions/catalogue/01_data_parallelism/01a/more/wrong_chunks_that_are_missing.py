# expect: tuple index out of range
def part(order, rank, world_size):
    return order.chunk(world_size)[rank]
