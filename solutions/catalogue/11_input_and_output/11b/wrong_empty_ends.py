# expect: An empty sample is a sample
def unpack(shard):
    samples, place = [], 0
    while place + 2 <= len(shard):
        size = 256 * shard[place] + shard[place + 1]
        if not size or place + 2 + size > len(shard):
            break
        samples.append(shard[place + 2 : place + 2 + size])
        place += 2 + size
    return [samples, len(shard) - place]
