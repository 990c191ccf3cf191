# expect: there are `workers` of them
def mended_deal(shards, seed, epoch, world_size, workers):
    order = shuffled(shards, seed + epoch)
    return [[order[rank::world_size][worker::world_size] for worker in range(workers)] for rank in range(world_size)]
