# expect: even within a length. unpack([0]) raised
def unpack(shard):
    samples, place = [], 0
    while place < len(shard):
        stop = place + 2 + 256 * shard[place] + shard[place + 1]
        if stop > len(shard):
            break
        samples.append(shard[place + 2 : stop])
        place = stop
    return [samples, len(shard) - place]
