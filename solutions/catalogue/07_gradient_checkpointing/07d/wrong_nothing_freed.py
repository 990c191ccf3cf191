# expect: Nothing is freed
def halving_plan(layers):
    def between(start, end):
        if end - start == 1:
            return [f"store {end}", f"back {end}"]
        middle, plan = (start + end) // 2, []
        for layer in range(start + 1, middle + 1):
            plan.append(f"run {layer}")
        return plan + between(middle, end) + between(start, middle)

    return between(0, layers)
