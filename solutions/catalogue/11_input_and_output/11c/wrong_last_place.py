# expect: stop is the first place that is not read
def own_parts(lengths, world_size, rank):
    low, high = (sum(lengths) * r // world_size for r in (rank, rank + 1))
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low - start, 0), min(high - start, length)
        if first < stop:
            parts.append([shard, first, stop - 1])
        start += length
    return parts
