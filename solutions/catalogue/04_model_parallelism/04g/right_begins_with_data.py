def cheapest_plan(data, model, change):
    by_data, by_model = 0, float("inf")  # nothing is lost: change[0] is 0
    for d, m, c in zip(data, model, change, strict=True):
        by_data, by_model = d + min(by_data, by_model + c), m + min(by_model, by_data + c)
    return min(by_data, by_model)
