# expect: Whole shards in turn
def own_parts(lengths, world_size, rank):
    shards = [[shard, 0, length] for shard, length in enumerate(lengths) if length]
    return shards[rank::world_size]
