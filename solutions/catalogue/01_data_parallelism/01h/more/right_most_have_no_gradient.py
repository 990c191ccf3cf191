def wrong_way(world_size):
    return [-1.0, -1.0, 100.0] + [0.0] * (world_size - 3)
