def pack(samples, max_bytes):
    def fill():
        shard = []
        for sample in samples:
            if shard and len(shard) + 2 + len(sample) > max_bytes:
                yield shard
                shard = []
            shard = shard + record(sample)
        if shard:
            yield shard

    return list(fill())
