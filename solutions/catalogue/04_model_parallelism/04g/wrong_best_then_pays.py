# expect: Each layer's own best
def cheapest_plan(data, model, change):
    sides = [m < d for d, m in zip(data, model, strict=True)]
    total = sum(min(d, m) for d, m in zip(data, model, strict=True))
    return total + sum(change[i] for i in range(1, len(data)) if sides[i] != sides[i - 1])
