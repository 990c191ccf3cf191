def pack(samples, max_bytes):
    shards = []
    for sample in samples:
        each = len(sample).to_bytes(2, "big") + bytes(sample)
        if shards and len(shards[-1]) + len(each) <= max_bytes:
            shards[-1] = shards[-1] + each
        else:
            shards.append(each)
    return tuple(shards)
