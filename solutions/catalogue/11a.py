# %% right: bytes
def pack(samples, max_bytes):
    shards = []
    for sample in samples:
        each = len(sample).to_bytes(2, "big") + bytes(sample)
        if shards and len(shards[-1]) + len(each) <= max_bytes:
            shards[-1] = shards[-1] + each
        else:
            shards.append(each)
    return tuple(shards)


# %% right: generator
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
