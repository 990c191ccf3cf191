from itertools import chain, zip_longest


def rest_of_epoch(shards, seed, epoch, workers, taken, ranks):
    none = object()
    order = [shuffled(shard, seed + epoch) for shard in shuffled(shards, seed + epoch)]
    left = dict.fromkeys(chain.from_iterable(order))
    for rank in range(len(taken)):
        mine = order[rank :: len(taken)]
        rows = (chain.from_iterable(mine[worker::workers]) for worker in range(workers))
        stream = [sample for turn in zip_longest(*rows, fillvalue=none) for sample in turn if sample is not none]
        for sample in stream[: taken[rank]]:
            del left[sample]
    rest = list(left)
    return [rest[len(rest) * rank // ranks : len(rest) * (rank + 1) // ranks] for rank in range(ranks)]
