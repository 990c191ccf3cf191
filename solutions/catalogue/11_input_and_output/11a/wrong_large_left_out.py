# expect: it is not left out
def pack(samples, most_bytes):
    shards = []
    for sample in samples:
        each = record(sample)
        if len(each) > most_bytes:
            continue
        if not shards or len(shards[-1]) + len(each) > most_bytes:
            shards.append([])
        shards[-1] += each
    return shards
