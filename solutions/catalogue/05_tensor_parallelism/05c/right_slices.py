def rows_of_rank(heads, width, world_size, rank):
    own = heads // world_size * width
    starts = [part * heads * width + rank * own for part in range(3)]
    return [row for start in starts for row in range(start, start + own)]
