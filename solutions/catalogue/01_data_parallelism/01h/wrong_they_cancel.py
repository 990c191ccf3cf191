# expect: the joined batch says: stay
def wrong_way(world_size):
    return [world_size - 1.0] + [-1.0] * (world_size - 1)
