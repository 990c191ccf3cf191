# expect: the same way
def wrong_way(world_size):
    return [-1.0] + [2.0 * world_size] * (world_size - 1)
