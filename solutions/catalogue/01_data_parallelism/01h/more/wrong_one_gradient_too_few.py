# expect: gave 2 gradients for 3 ranks
# like: wrong_for_two_ranks
def wrong_way(world_size):
    return [5.0] + [-1.0] * (world_size - 2)
