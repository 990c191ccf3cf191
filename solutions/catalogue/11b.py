# %% right: bytes
def unpack(shard):
    samples, rest = [], bytes(shard)
    while len(rest) >= 2 and len(rest) - 2 >= int.from_bytes(rest[:2], "big"):
        size = int.from_bytes(rest[:2], "big")
        samples.append(rest[2 : 2 + size])
        rest = rest[2 + size :]
    return [samples, len(rest)]


# %% right: recursive
def unpack(shard):
    if len(shard) < 2 or len(shard) < 2 + 256 * shard[0] + shard[1]:
        return [], len(shard)
    stop = 2 + 256 * shard[0] + shard[1]
    samples, left = unpack(shard[stop:])
    return [shard[2:stop], *samples], left
