# expect: To store a layer runs it
def peak_and_recomputed(sizes, plan):
    held, stored, ran = {0}, set(), set()
    peak = again = 0
    for word in plan:
        kind, i = parts(word)
        if kind in ("run", "store"):
            again += kind == "run" and i in ran
            ran.add(i)
            held.add(i)
        if kind == "store":
            stored.add(i)
        if kind == "free":
            held.discard(i)
        if kind == "back":
            stored.discard(i)
        peak = max(peak, sum(sizes[v] for v in held | {i - 1 for i in stored}))
    return [peak, again]
