# expect: The last shard counts
def pack(samples, most_bytes):
    shards, shard = [], []
    for sample in samples:
        each = record(sample)
        if shard and len(shard) + len(each) > most_bytes:
            shards.append(shard)
            shard = []
        shard += each
    return shards
