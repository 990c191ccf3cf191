# expect: not all of its entries are numbers
def wrong_way(world_size):
    return ["loud"] + ["quiet"] * (world_size - 1)
