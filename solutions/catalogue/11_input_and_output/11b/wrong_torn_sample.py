# expect: A sample that is not whole is none
def unpack(shard):
    samples, place = [], 0
    while place + 2 <= len(shard):
        size = 256 * shard[place] + shard[place + 1]
        samples.append(shard[place + 2 : place + 2 + size])
        place += 2 + size
    return [samples, max(0, len(shard) - place)]
