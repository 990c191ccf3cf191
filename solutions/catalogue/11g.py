# %% right: appended
def mended_deal(shards, seed, epoch, world_size, workers):
    deal = [[[] for _ in range(workers)] for _ in range(world_size)]
    for place, shard in enumerate(shuffled(shards, seed + epoch)):
        turn, rank = divmod(place, world_size)
        deal[rank][turn % workers].append(shard)
    return deal


# %% right: each_rank_by_itself
def mended_deal(shards, seed, epoch, world_size, workers):
    ranks = []
    for rank in range(world_size):
        mine = shuffled(shards, seed + epoch)[rank::world_size]
        ranks.append([mine[worker::workers] for worker in range(workers)])
    return ranks
