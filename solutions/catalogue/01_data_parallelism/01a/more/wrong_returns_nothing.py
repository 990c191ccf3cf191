# expect: gave nothing (None)
def part(order, rank, world_size):
    order[rank::world_size]
