from functools import cache


def cheapest_plan(data, model, change):
    @cache
    def rest(i, side):
        if i == len(data):
            return 0
        costs = (data, model)
        return min(costs[new][i] + (change[i] if i and new != side else 0) + rest(i + 1, new) for new in (0, 1))

    return rest(0, 0)
