# expect: Does the place move on
def unpack(shard):
    samples, place = [], 0
    while place + 2 <= len(shard):
        stop = place + 2 + 256 * shard[place] + shard[place + 1]
        if stop <= len(shard):
            samples.append(shard[place + 2 : stop])
            place = stop
    return [samples, len(shard) - place]
