# expect: The high byte of a length comes first
def pack(samples, most_bytes):
    shards = []
    for sample in samples:
        each = list(len(sample).to_bytes(2, "little")) + sample
        if not shards or len(shards[-1]) + len(each) > most_bytes:
            shards.append([])
        shards[-1] += each
    return shards
