# expect: Where half a save is longer
def saving(interval, save, restart, chance):
    minutes = 0
    for _ in range(interval + save):
        minutes = (minutes + 1 + chance * restart) / (1 - chance)
    young = math.sqrt(2 * save / chance)
    ratio = save * chance / 2
    daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save
    return [young, daly, 1 - interval / minutes]
