# %% right: begins_with_data
def cheapest_plan(data, model, change):
    by_data, by_model = 0, float("inf")  # nothing is lost: change[0] is 0
    for d, m, c in zip(data, model, change, strict=True):
        by_data, by_model = d + min(by_data, by_model + c), m + min(by_model, by_data + c)
    return min(by_data, by_model)


# %% right: from_the_end
from functools import cache


def cheapest_plan(data, model, change):
    @cache
    def rest(i, side):
        if i == len(data):
            return 0
        costs = (data, model)
        return min(costs[new][i] + (change[i] if i and new != side else 0) + rest(i + 1, new) for new in (0, 1))

    return rest(0, 0)


# %% right: two_numbers
def cheapest_plan(data, model, change):
    d, m = data[0], model[0]
    for i in range(1, len(data)):
        d, m = data[i] + min(d, m + change[i]), model[i] + min(m, d + change[i])
    return min(d, m)
