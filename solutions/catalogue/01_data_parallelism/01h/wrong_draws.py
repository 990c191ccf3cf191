# expect: averaging parameters not at all
def wrong_way(world_size):
    return [2.0, -1.0] + [0.0] * (world_size - 2)
