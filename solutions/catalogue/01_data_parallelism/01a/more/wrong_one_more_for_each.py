# expect: in rank 0's part, too
# like: wrong_overlaps_by_one
def part(order, rank, world_size):
    size = len(order) // world_size
    return order[rank * size : (rank + 1) * size + 1]
