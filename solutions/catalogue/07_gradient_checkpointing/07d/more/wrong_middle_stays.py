# expect: and takes it no more
def halving_plan(layers):
    def between(start, end):
        if end - start == 1:
            return [f"store {end}", f"free {end}", f"back {end}"] + [f"free {start}"] * (start != layers // 2)
        middle, plan = (start + end) // 2, []
        for layer in range(start + 1, middle + 1):
            plan.append(f"run {layer}")
            if layer - 1 > start:
                plan.append(f"free {layer - 1}")
        return plan + between(middle, end) + between(start, middle)

    return between(0, layers)
