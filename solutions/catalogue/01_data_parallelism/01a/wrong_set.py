# expect: which has not the right form
def part(order, rank, world_size):
    return set(order[rank::world_size].tolist())
