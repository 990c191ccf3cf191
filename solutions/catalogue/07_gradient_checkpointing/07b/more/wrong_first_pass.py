# expect: The peak may come where a layer is run again
def peak_and_recomputed(sizes, plan):
    held, kept, ran = {0}, set(), set()
    peak = again = 0
    for kind, i in map(parts, plan):
        if kind in ("run", "store"):
            held.add(i)
            if kind == "store":
                kept.add(i - 1)
            if i in ran:
                again += 1
            else:
                peak = max(peak, sum(sizes[v] for v in held | kept))
            ran.add(i)
        elif kind == "free":
            held.discard(i)
        else:
            kept.discard(i - 1)
    return [peak, again]
