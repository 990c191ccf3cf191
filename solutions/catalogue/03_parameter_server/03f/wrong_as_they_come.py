# expect: in the order given
def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for number, length in enumerate(lengths):
        emptiest = loads.index(min(loads))
        plan[emptiest].append(number)
        loads[emptiest] += length
    return plan
