# expect: A layer may have a number of two digits
def peak_and_recomputed(sizes, plan):
    held, kept, ran = {0}, set(), set()
    peak = again = 0
    for word in plan:
        kind, i = word.split()[0], int(word[-1])
        if kind in ("run", "store"):
            again += i in ran
            ran.add(i)
            held.add(i)
            if kind == "store":
                kept.add(i - 1)
            peak = max(peak, sum(sizes[v] for v in held | kept))
        elif kind == "free":
            held.discard(i)
        else:
            kept.discard(i - 1)
    return [peak, again]
