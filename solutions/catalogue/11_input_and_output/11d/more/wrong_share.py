# expect: not their share
def misses(epochs, places, policy):
    c, out = [], []
    for e in epochs:
        m = 0
        for s in e:
            if s in c:
                if policy == "lru":
                    c.remove(s)
                    c.append(s)
            else:
                m += 1
                if len(c) < places:
                    c.append(s)
                elif policy == "lru":
                    c.pop(0)
                    c.append(s)
        out.append(m / len(e))
    return out
