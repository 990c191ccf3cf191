# expect: are places in a sorted list
def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for number, length in enumerate(sorted(lengths, reverse=True)):
        e = loads.index(min(loads))
        plan[e].append(number)
        loads[e] += length
    return plan
