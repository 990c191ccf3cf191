# expect: you deal out by what the examples are
def part(order, rank, world_size):
    return order[order % world_size == rank]
