# expect: leaves tensor 0 on no server at all
def shard_by_size(lengths, servers):
    plan, room = [[] for _ in range(servers)], [sum(lengths) // servers] * servers
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        for server in range(servers):
            if lengths[number] <= room[server]:
                plan[server].append(number)
                room[server] -= lengths[number]
                break
    return plan
