# expect: Those are the queries only
def rows_of_rank(heads, width, world_size, rank):
    own = heads // world_size * width
    return list(range(rank * own, (rank + 1) * own))
