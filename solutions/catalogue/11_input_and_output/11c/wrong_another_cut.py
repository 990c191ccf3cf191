# expect: not the cut that is asked for
def own_parts(lengths, world_size, rank):
    each, more = divmod(sum(lengths), world_size)
    low = each * rank + min(rank, more)
    high = low + each + (rank < more)
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low - start, 0), min(high - start, length)
        if first < stop:
            parts.append([shard, first, stop])
        start += length
    return parts
