# expect: gradients for 3 ranks
# like: wrong_for_two_ranks
def wrong_way(world_size, out=[99.0]):  # noqa: B006
    while len(out) < world_size:
        out.append(-1.0)
    return out
