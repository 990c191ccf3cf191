# expect: finite numbers
def wrong_way(world_size):
    return [float("inf")] + [-1.0] * (world_size - 1)
