# expect: which is in no part
def part(order, rank, world_size):
    return order[rank:-1:world_size]
