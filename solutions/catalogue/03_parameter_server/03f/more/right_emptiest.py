def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        emptiest = loads.index(min(loads))
        plan[emptiest].append(number)
        loads[emptiest] += lengths[number]
    return plan
