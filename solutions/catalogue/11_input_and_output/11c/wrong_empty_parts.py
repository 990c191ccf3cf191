# expect: Leave out shards of which the rank reads nothing
def own_parts(lengths, world_size, rank):
    low, high = (sum(lengths) * r // world_size for r in (rank, rank + 1))
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        parts.append([shard, min(max(low - start, 0), length), min(max(high - start, 0), length)])
        start += length
    return parts
