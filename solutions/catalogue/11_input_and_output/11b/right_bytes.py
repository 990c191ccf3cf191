def unpack(shard):
    samples, rest = [], bytes(shard)
    while len(rest) >= 2 and len(rest) - 2 >= int.from_bytes(rest[:2], "big"):
        size = int.from_bytes(rest[:2], "big")
        samples.append(rest[2 : 2 + size])
        rest = rest[2 + size :]
    return [samples, len(rest)]
