# expect: names tensor 90
def shard_by_size(lengths, servers):
    plan = [[] for _ in range(servers)]
    for length in sorted(lengths, reverse=True):
        min(plan, key=sum).append(length)
    return plan
