# expect: all of them to one server
def shard_by_size(lengths, servers):
    return [list(range(len(lengths)))] + [[] for _ in range(servers - 1)]
