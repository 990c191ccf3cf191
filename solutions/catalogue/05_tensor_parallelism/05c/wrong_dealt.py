# expect: Neighboring heads lie on one rank
def rows_of_rank(heads, width, world_size, rank):
    hidden = heads * width
    return [row for row in range(3 * hidden) if row % hidden // width % world_size == rank]
