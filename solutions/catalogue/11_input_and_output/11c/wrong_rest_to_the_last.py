# expect: All that is left over goes to the last rank
def own_parts(lengths, world_size, rank):
    each = sum(lengths) // world_size
    low, high = each * rank, each * (rank + 1) if rank < world_size - 1 else sum(lengths)
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low - start, 0), min(high - start, length)
        if first < stop:
            parts.append([shard, first, stop])
        start += length
    return parts
