# expect: is dropped
def part(order, rank, world_size):
    size = len(order) // world_size
    return order[rank * size : (rank + 1) * size]
