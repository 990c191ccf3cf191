# expect: goes back first: store its layers at once
def residual_plan(blocks):
    plan = []
    for i in range(1, blocks + 1):
        plan += [f"run {i}a", f"run {i}b", f"free {i}a", f"store {i}", f"free {i}b"]
    for i in range(blocks, 0, -1):
        plan += [f"free {i}", f"store {i}a", f"store {i}b", f"free {i}a", f"free {i}b"]
        plan += [f"back {i}", f"back {i}b", f"back {i}a"]
    return plan
