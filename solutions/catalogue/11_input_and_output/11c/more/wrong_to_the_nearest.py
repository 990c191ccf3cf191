# expect: it does not round to the nearest
def own_parts(lengths, world_size, rank):
    t = sum(lengths)
    lo, hi = round(t * rank / world_size), round(t * (rank + 1) / world_size)
    s, out = 0, []
    for i, n in enumerate(lengths):
        a, b = max(lo - s, 0), min(hi - s, n)
        if a < b:
            out.append([i, a, b])
        s += n
    return out
