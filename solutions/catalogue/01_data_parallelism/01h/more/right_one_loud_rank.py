def wrong_way(world_size):
    return [float(world_size)] + [-1.0] * (world_size - 1)
