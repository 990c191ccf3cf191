# expect: near it where failures are rare
def saving(interval, save, restart, chance):
    waste = save / interval + chance * (interval / 2 + restart)
    young = math.sqrt(2 * save / chance)
    ratio = save * chance / 2
    daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save if ratio < 1 else 1 / chance
    return [young, daly, waste]
