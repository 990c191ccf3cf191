# expect: That begins at the input for every layer
def halving_plan(layers):
    plan = []
    for last in range(layers, 0, -1):
        for layer in range(1, last):
            plan.append(f"run {layer}")
            if layer > 1:
                plan.append(f"free {layer - 1}")
        plan += [f"store {last}", f"free {last - 1}", f"free {last}", f"back {last}"]
    return plan
