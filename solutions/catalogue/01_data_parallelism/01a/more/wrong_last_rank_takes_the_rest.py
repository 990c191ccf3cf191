# expect: the parts hold 0, 0, 0, 0, 3 examples
# like: wrong_rounds_up
def part(order, rank, world_size):
    size = len(order) // world_size
    if rank == world_size - 1:
        return order[rank * size :]
    return order[rank * size : (rank + 1) * size]
