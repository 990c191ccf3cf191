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
