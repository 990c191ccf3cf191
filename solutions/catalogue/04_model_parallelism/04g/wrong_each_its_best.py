# expect: leaves out what changing sides costs
def cheapest_plan(data, model, change):
    return sum(min(d, m) for d, m in zip(data, model, strict=True))
