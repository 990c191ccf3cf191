# expect: You dealt the tensors out in turn
def shard_by_size(lengths, servers):
    return [list(range(server, len(lengths), servers)) for server in range(servers)]
