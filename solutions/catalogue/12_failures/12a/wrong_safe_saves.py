# expect: It can fail while it saves, too
def saving(interval, save, restart, chance):
    minutes = save
    for _ in range(interval):
        minutes = (minutes - save + 1 + chance * restart) / (1 - chance) + save
    young = math.sqrt(2 * save / chance)
    ratio = save * chance / 2
    daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save if ratio < 1 else 1 / chance
    return [young, daly, 1 - interval / minutes]
