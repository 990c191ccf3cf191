# expect: gave [100, 100, -1, -1]
# like: wrong_draws
def wrong_way(world_size):
    return [100.0] * (world_size // 2) + [-1.0] * (world_size - world_size // 2)
