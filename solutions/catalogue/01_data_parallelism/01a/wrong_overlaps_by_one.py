# expect: is in rank 0's part, too
def part(order, rank, world_size):
    size = -(-len(order) // world_size)
    return order[rank * size : (rank + 1) * size + 1]
