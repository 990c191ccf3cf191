# expect: That keeps everything
def halving_plan(layers):
    plan = []
    for layer in range(1, layers + 1):
        plan += [f"store {layer}", f"free {layer - 1}"]
    return plan + [f"back {layer}" for layer in range(layers, 0, -1)]
