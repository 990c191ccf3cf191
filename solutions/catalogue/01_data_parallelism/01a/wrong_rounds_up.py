# expect: lengths may differ by one at most
def part(order, rank, world_size):
    size = -(-len(order) // world_size)
    return order[rank * size : (rank + 1) * size]
