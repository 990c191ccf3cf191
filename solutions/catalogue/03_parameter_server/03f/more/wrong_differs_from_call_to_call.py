# expect: two different plans for the same lengths
turns = [0]


def shard_by_size(lengths, servers):
    turns[0] += 1
    plan, loads = [[] for _ in range(servers)], [0] * servers
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        emptiest = loads.index(min(loads))
        plan[(emptiest + turns[0]) % servers].append(number)
        loads[emptiest] += lengths[number]
    return plan
