def mended_deal(shards, seed, epoch, world_size, workers):
    deal = [[[] for _ in range(workers)] for _ in range(world_size)]
    for place, shard in enumerate(shuffled(shards, seed + epoch)):
        turn, rank = divmod(place, world_size)
        deal[rank][turn % workers].append(shard)
    return deal
