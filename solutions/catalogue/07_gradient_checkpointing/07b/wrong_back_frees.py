# expect: back i frees nothing
def peak_and_recomputed(sizes, plan):
    held, stored, ran, peak, recomputed = {0}, set(), set(), 0, 0
    for kind, i in map(parts, plan):
        if kind == "free":
            held.discard(i)
        elif kind == "back":
            stored.discard(i)
            held.discard(i - 1)
        else:
            recomputed += i in ran
            ran.add(i)
            held.add(i)
            if kind == "store":
                stored.add(i)
            peak = max(peak, sum(sizes[value] for value in held | {each - 1 for each in stored}))
    return [peak, recomputed]
