# expect: gradients for
def wrong_way(world_size):
    return [3.0, -1.0]
