# %% right: every_sample
def own_parts(lengths, world_size, rank):
    everything = [(shard, place) for shard, length in enumerate(lengths) for place in range(length)]
    total = len(everything)
    mine = everything[total * rank // world_size : total * (rank + 1) // world_size]
    parts = {}
    for shard, place in mine:
        first, _ = parts.get(shard, (place, 0))
        parts[shard] = first, place + 1
    return [(shard, first, stop) for shard, (first, stop) in parts.items()]


# %% right: torch
def own_parts(lengths, world_size, rank):
    import torch

    starts = torch.tensor([0, *lengths]).cumsum(0)
    total = int(starts[-1])
    cuts = [total * rank // world_size, total * (rank + 1) // world_size]
    first, stop = ((cut - starts[:-1]).clamp(min=0) for cut in cuts)
    stop = torch.minimum(stop, torch.tensor(lengths))
    return [[i, int(first[i]), int(stop[i])] for i in range(len(lengths)) if first[i] < stop[i]]
