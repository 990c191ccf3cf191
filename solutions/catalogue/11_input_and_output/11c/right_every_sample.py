def own_parts(lengths, world_size, rank):
    everything = [(shard, place) for shard, length in enumerate(lengths) for place in range(length)]
    total = len(everything)
    mine = everything[total * rank // world_size : total * (rank + 1) // world_size]
    parts = {}
    for shard, place in mine:
        first, _ = parts.get(shard, (place, 0))
        parts[shard] = first, place + 1
    return [(shard, first, stop) for shard, (first, stop) in parts.items()]
