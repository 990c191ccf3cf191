# expect: from another order than shuffled
def mended_deal(shards, seed, epoch, world_size, workers):
    order = shuffled(shards, f"{seed}/{epoch}")
    return [[order[r::world_size][w::workers] for w in range(workers)] for r in range(world_size)]
