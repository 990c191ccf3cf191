# expect: That is the colleague's program
def mended_deal(shards, seed, epoch, world_size, workers):
    ranks = []
    for rank in range(world_size):
        mine = shuffled(shards, seed + rank)[rank::world_size]
        ranks.append([mine[worker::world_size] for worker in range(workers)])
    return ranks
