# expect: A shard may be filled to its last byte
def pack(samples, most_bytes):
    shards = []
    for sample in samples:
        each = record(sample)
        if not shards or len(shards[-1]) + len(each) >= most_bytes:
            shards.append([])
        shards[-1] += each
    return shards
