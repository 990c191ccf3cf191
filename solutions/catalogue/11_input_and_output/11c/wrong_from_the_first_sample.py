# expect: first and stop count within their shard
def own_parts(lengths, world_size, rank):
    low, high = (sum(lengths) * r // world_size for r in (rank, rank + 1))
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low, start), min(high, start + length)
        if first < stop:
            parts.append([shard, first, stop])
        start += length
    return parts
