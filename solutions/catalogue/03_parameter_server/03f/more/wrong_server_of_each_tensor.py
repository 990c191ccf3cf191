# expect: is not a list of lists
def shard_by_size(lengths, servers):
    loads, homes = [0] * servers, [0] * len(lengths)
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        homes[number] = loads.index(min(loads))
        loads[homes[number]] += lengths[number]
    return homes
