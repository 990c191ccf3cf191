# expect: not how many are missing
def unpack(shard):
    out, p = [], 0
    missing = 0
    while p + 2 <= len(shard):
        n = shard[p] * 256 + shard[p + 1]
        if p + 2 + n > len(shard):
            missing = p + 2 + n - len(shard)
            break
        out.append(shard[p + 2 : p + 2 + n])
        p += n + 2
    return [out, missing]
