# %% right: drawn_one_by_one
def rest_of_epoch(shards, seed, epoch, workers, taken, ranks):
    order = [shuffled(shard, seed + epoch) for shard in shuffled(shards, seed + epoch)]
    queues = [[[] for _ in range(workers)] for _ in taken]
    for place, shard in enumerate(order):
        turn, rank = divmod(place, len(taken))
        queues[rank][turn % workers].extend(shard)
    gone = []
    for rank, count in enumerate(taken):
        waiting = [queue for queue in queues[rank] if queue]
        while count:
            queue = waiting.pop(0)
            gone.append(queue.pop(0))
            count -= 1
            if queue:
                waiting.append(queue)
    left = [sample for shard in order for sample in shard if sample not in gone]
    edge = [r * len(left) // ranks for r in range(ranks + 1)]
    return [left[edge[r] : edge[r + 1]] for r in range(ranks)]


# %% right: longest
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


# %% right: sorted_by_turn
def rest_of_epoch(shards, seed, epoch, workers, taken, ranks):
    old, rows, order = len(taken), {}, []
    for place, shard in enumerate(shuffled(shards, seed + epoch)):
        key = place % old, place // old % workers
        for sample in shuffled(shard, seed + epoch):
            rows.setdefault(key, []).append(sample)
            order.append(sample)
    for rank, count in enumerate(taken):
        turns = [(at, key[1], sample) for key, row in rows.items() if key[0] == rank for at, sample in enumerate(row)]
        for _, _, sample in sorted(turns)[:count]:
            order.remove(sample)
    owners = [[] for _ in range(ranks)]
    for rank, mine in enumerate(owners):
        mine += order[len(order) * rank // ranks : len(order) * (rank + 1) // ranks]
    return owners


# %% wrong: each_goes_on
def rest_of_epoch(shards, seed, epoch, workers, taken, ranks):
    order = [shuffled(shard, seed + epoch) for shard in shuffled(shards, seed + epoch)]
    lists = []
    for rank in range(ranks):
        mine = order[rank::ranks]
        rows = [[sample for shard in mine[worker::workers] for sample in shard] for worker in range(workers)]
        stream = [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]
        lists.append(stream[taken[rank] if rank < len(taken) else 0 :])
    return lists
