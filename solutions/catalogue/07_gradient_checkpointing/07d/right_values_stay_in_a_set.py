def halving_plan(layers):
    plan, held = [], {0}

    def keep_only(wanted):
        for value in sorted(held - wanted):
            plan.append(f"free {value}")
        held.intersection_update(wanted)

    def go_back(start, end, kept):
        if end - start == 1:
            plan.append(f"store {end}")
            held.add(end)
            keep_only(kept)
            plan.append(f"back {end}")
            return
        middle = (start + end) // 2
        for layer in range(start + 1, middle + 1):
            plan.append(f"run {layer}")
            held.add(layer)
            keep_only(kept | {start, layer})
        go_back(middle, end, kept | {start})
        go_back(start, middle, kept)

    go_back(0, layers, set())
    return plan
