def residual_plan(blocks):
    plan = []
    for last in range(blocks, 0, -1):
        for i in range(1, last):
            plan += [f"run {i}a", f"run {i}b", f"free {i}a", f"run {i}", f"free {i}b"]
            plan += [f"free {i - 1}"] * (i > 1)
        plan += [f"store {last}a", f"store {last}b", f"store {last}", f"free {last}a", f"free {last}b", f"free {last}"]
        plan += [f"free {last - 1}"] * (last > 1)
        plan += [f"back {last}", f"back {last}b", f"back {last}a"]
    return plan
