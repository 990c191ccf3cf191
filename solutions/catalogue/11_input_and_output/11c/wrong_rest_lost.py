# expect: read by nobody
def own_parts(lengths, world_size, rank):
    each = sum(lengths) // world_size
    return parts_between(lengths, each * rank, each * (rank + 1))


def parts_between(lengths, low, high):
    start, parts = 0, []
    for shard, length in enumerate(lengths):
        first, stop = max(low - start, 0), min(high - start, length)
        if first < stop:
            parts.append([shard, first, stop])
        start += length
    return parts
