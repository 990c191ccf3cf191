# expect: gave a set
def part(order, rank, world_size):
    return set(order[rank::world_size].tolist())
