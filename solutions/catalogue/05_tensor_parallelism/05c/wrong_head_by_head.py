# expect: The right rows in another order
def rows_of_rank(heads, width, world_size, rank):
    own = heads // world_size
    mine = range(rank * own, (rank + 1) * own)
    return [(part * heads + head) * width + i for head in mine for part in range(3) for i in range(width)]
