# expect: names tensor 2; the tensors
def shard_by_size(lengths, servers, plan=[]):  # noqa: B006
    while len(plan) < servers:
        plan.append([])
    loads = [0] * servers
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        e = loads.index(min(loads))
        plan[e].append(number)
        loads[e] += lengths[number]
    return plan
