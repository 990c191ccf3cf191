def halving_plan(layers):
    plan, waiting = [], [(0, layers)]
    while waiting:
        start, end = waiting.pop()
        middle = -(-(start + end) // 2)
        if end == start + 1:
            plan += [f"store {end}", f"back {end}", f"free {end}", f"free {start}"]
            continue
        for layer in range(start + 1, middle + 1):
            plan += [f"run {layer}"] + [f"free {layer - 1}"] * (layer > start + 1)
        waiting += [(start, middle), (middle, end)]
    return plan
