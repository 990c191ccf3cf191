def rest_of_epoch(shards, seed, epoch, workers, taken, ranks):
    order = [shuffled(shard, seed + epoch) for shard in shuffled(shards, seed + epoch)]
    lists = []
    for rank in range(ranks):
        mine = order[rank::ranks]
        rows = [[sample for shard in mine[worker::workers] for sample in shard] for worker in range(workers)]
        stream = [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]
        lists.append(stream[taken[rank] if rank < len(taken) else 0 :])
    return lists
