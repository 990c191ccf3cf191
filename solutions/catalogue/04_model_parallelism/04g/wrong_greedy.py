# expect: Looking one layer ahead is not enough
def cheapest_plan(data, model, change):
    side = int(model[0] < data[0])
    costs = (data, model)
    total = costs[side][0]
    for i in range(1, len(data)):
        if costs[side][i] > costs[1 - side][i] + change[i]:
            side, total = 1 - side, total + change[i]
        total += costs[side][i]
    return total
