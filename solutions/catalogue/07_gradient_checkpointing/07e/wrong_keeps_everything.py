# expect: That runs everything once
def residual_plan(blocks):
    plan = []
    for i in range(1, blocks + 1):
        plan += [f"store {i}a", f"store {i}b", f"store {i}", f"free {i - 1}", f"free {i}a", f"free {i}b"]
    for i in range(blocks, 0, -1):
        plan += [f"back {i}", f"back {i}b", f"back {i}a"]
    return plan
