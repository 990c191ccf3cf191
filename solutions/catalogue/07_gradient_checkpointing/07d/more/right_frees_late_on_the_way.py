def halving_plan(layers):
    def between(start, end, last):
        if end - start == 1:
            return [f"store {end}", f"back {end}"] + ([] if last else [f"free {start}", f"free {end}"])
        middle, plan = (start + end) // 2, []
        for layer in range(start + 1, middle + 1):
            plan.append(f"run {layer}")
            if layer - 1 > start:
                plan.append(f"free {layer - 1}")
        return plan + between(middle, end, False) + between(start, middle, last)

    return between(0, layers, True)
