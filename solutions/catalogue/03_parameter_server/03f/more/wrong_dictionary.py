# expect: is not a list of lists
# like: wrong_server_of_each_tensor
def shard_by_size(lengths, servers):
    plan, loads = {s: [] for s in range(servers)}, [0] * servers
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        e = loads.index(min(loads))
        plan[e].append(number)
        loads[e] += lengths[number]
    return plan
