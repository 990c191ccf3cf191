# expect: change the two at once
def cheapest_plan(data, model, change):
    by_data, by_model = data[0], model[0]
    for i in range(1, len(data)):
        by_data = data[i] + min(by_data, by_model + change[i])
        by_model = model[i] + min(by_model, by_data + change[i])
    return min(by_data, by_model)
