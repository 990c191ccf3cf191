# %% right: by_owner
def rows_of_rank(heads, width, world_size, rank):
    hidden = heads * width
    return [row for row in range(3 * hidden) if row % hidden // width // (heads // world_size) == rank]


# %% right: slices
def rows_of_rank(heads, width, world_size, rank):
    own = heads // world_size * width
    starts = [part * heads * width + rank * own for part in range(3)]
    return [row for start in starts for row in range(start, start + own)]
