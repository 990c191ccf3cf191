# expect: That leaves out the high byte
def unpack(shard):
    samples, place = [], 0
    while place + 2 <= len(shard):
        stop = place + 2 + shard[place + 1]
        if stop > len(shard):
            break
        samples.append(shard[place + 2 : stop])
        place = stop
    return [samples, len(shard) - place]
