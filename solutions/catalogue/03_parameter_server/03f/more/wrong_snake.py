# expect: in a snake, the biggest first
def shard_by_size(lengths, servers):
    plan = [[] for _ in range(servers)]
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    for i, number in enumerate(order):
        r, c = divmod(i, servers)
        plan[c if r % 2 == 0 else servers - 1 - c].append(number)
    return plan
