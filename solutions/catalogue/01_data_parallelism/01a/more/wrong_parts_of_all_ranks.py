# expect: not all of its entries are numbers
def part(order, rank, world_size):
    return order.tensor_split(world_size)
