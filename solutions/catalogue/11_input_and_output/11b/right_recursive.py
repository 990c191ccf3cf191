def unpack(shard):
    if len(shard) < 2 or len(shard) < 2 + 256 * shard[0] + shard[1]:
        return [], len(shard)
    stop = 2 + 256 * shard[0] + shard[1]
    samples, left = unpack(shard[stop:])
    return [shard[2:stop], *samples], left
