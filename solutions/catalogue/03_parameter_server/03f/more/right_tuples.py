def shard_by_size(lengths, servers):
    bins = [(0, s, ()) for s in range(servers)]
    for length, number in sorted(((length, n) for n, length in enumerate(lengths)), reverse=True):
        bins.sort()
        load, s, held = bins[0]
        bins[0] = (load + length, s, held + (number,))
    return tuple(tuple(sorted(held)) for _, _, held in sorted(bins, key=lambda b: b[1]))
