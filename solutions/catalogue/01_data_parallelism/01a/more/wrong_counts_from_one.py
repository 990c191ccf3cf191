# expect: which is no example of the order
def part(order, rank, world_size):
    return order[rank::world_size] + 1000
