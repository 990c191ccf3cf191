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
