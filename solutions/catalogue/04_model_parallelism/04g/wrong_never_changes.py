# expect: That never changes sides
def cheapest_plan(data, model, change):
    return min(sum(data), sum(model))
