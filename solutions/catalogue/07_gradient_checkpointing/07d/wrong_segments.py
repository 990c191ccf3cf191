# expect: That stores a whole segment at once
def halving_plan(layers):
    middle, plan = layers // 2, []
    for layer in range(1, middle + 1):
        plan += [f"run {layer}"] + [f"free {layer - 1}"] * (layer > 1)
    for start, end in ((middle, layers), (0, middle)):
        for layer in range(start + 1, end + 1):
            plan += [f"store {layer}", f"free {layer - 1}"]
        plan += [f"free {end}"] * (end > start)
        plan += [f"back {layer}" for layer in range(end, start, -1)]
    return plan
