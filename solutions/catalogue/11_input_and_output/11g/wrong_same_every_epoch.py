# expect: Every epoch has the same order
def mended_deal(shards, seed, epoch, world_size, workers):
    order = shuffled(shards, seed)
    return [[order[rank::world_size][worker::workers] for worker in range(workers)] for rank in range(world_size)]
