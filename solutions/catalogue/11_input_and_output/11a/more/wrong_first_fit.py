# expect: Samples keep their order
def pack(samples, most_bytes):
    shards = []
    for s in samples:
        r = record(s)
        for shard in shards:
            if len(shard) + len(r) <= most_bytes:
                shard += r
                break
        else:
            shards.append(list(r))
    return shards
