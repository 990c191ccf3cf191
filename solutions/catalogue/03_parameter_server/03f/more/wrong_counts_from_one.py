# expect: names tensor 4; the tensors
def shard_by_size(lengths, servers):
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        e = loads.index(min(loads))
        plan[e].append(number + 1)
        loads[e] += lengths[number]
    return plan
