# expect: in turn, the biggest first
def shard_by_size(lengths, servers):
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    return [order[server::servers] for server in range(servers)]
