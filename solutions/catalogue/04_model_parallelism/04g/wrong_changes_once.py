# expect: A plan may change sides more than once
def cheapest_plan(data, model, change):
    plans = [sum(data[:i]) + sum(model[i:]) + change[i] for i in range(1, len(data))]
    return min(sum(data), sum(model), *plans) if plans else min(data[0], model[0])
