# expect: the bug does not show
def wrong_way(world_size):
    return [1.0] * world_size
