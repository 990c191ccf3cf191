def cheapest_plan(data, model, change):
    d, m = data[0], model[0]
    for i in range(1, len(data)):
        d, m = data[i] + min(d, m + change[i]), model[i] + min(m, d + change[i])
    return min(d, m)
