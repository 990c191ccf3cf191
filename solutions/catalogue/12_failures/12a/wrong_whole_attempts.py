# expect: and not after all n minutes
def saving(interval, save, restart, chance):
    n = interval + save
    minutes = n / (1 - chance) ** n
    young = math.sqrt(2 * save / chance)
    ratio = save * chance / 2
    daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save if ratio < 1 else 1 / chance
    return [young, daly, 1 - interval / minutes]
