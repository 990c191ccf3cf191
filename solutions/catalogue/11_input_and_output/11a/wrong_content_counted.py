# expect: The two bytes of a length count, too
def pack(samples, most_bytes):
    shards, used = [], 0
    for sample in samples:
        if not shards or used + len(sample) > most_bytes:
            shards.append([])
            used = 0
        shards[-1] += record(sample)
        used += len(sample)
    return shards
