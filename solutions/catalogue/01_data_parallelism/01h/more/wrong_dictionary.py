# expect: gave a dict
def wrong_way(world_size):
    return {r: (9.0 * world_size if r == 0 else -1.0) for r in range(world_size)}
