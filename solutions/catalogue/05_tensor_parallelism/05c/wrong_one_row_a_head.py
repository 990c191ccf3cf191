# expect: not one
def rows_of_rank(heads, width, world_size, rank):
    own = heads // world_size
    return [part * heads + head for part in range(3) for head in range(rank * own, (rank + 1) * own)]
