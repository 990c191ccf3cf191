# expect: puts tensor 0 on two servers
def shard_by_size(lengths, servers):
    plan, loads = [[]] * servers, [0] * servers
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        emptiest = loads.index(min(loads))
        plan[emptiest].append(number)
        loads[emptiest] += lengths[number]
    return plan
