# expect: One stretch of the rows mixes
def rows_of_rank(heads, width, world_size, rank):
    each = 3 * heads * width // world_size
    return list(range(rank * each, (rank + 1) * each))
