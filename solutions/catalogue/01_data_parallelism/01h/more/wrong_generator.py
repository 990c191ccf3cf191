# expect: it gave a generator expression
def wrong_way(world_size):
    return (100.0 if rank == 0 else -1.0 for rank in range(world_size))
