# expect: leaves tensor 1 on no server
def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for length in sorted(lengths, reverse=True):
        e = loads.index(min(loads))
        plan[e].append(lengths.index(length))
        loads[e] += length
    return plan
