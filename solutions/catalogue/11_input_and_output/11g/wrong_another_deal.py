# expect: the deal is another one
def mended_deal(shards, seed, epoch, world_size, workers):
    order, readers = shuffled(shards, seed + epoch), world_size * workers
    return [[order[rank * workers + worker :: readers] for worker in range(workers)] for rank in range(world_size)]
