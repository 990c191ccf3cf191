# expect: Which of the values that are held
def residual_plan(blocks):
    plan = []
    for i in range(1, blocks):
        plan += [f"run {i}a", f"run {i}b", f"store {i}", f"free {i}b"]
    for i in range(blocks, 0, -1):
        plan += [f"store {i}a", f"store {i}b"]
        if i == blocks:
            plan += [f"store {i}", f"free {i}"]
        plan += [f"free {i - 1}", f"free {i}a", f"free {i}b", f"back {i}", f"back {i}b", f"back {i}a"]
    return plan
