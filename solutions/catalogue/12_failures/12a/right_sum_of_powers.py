def saving(interval, save, restart, chance):
    good = 1 - chance
    n = interval + save
    seconds = sum(good**-k for k in range(1, n + 1))
    failures = good**-n - 1
    total = seconds + failures * restart
    young = math.sqrt(2 * save / chance)
    if save >= 2 / chance:
        return [young, 1 / chance, (total - interval) / total]
    ratio = save * chance / 2
    daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save
    return [young, daly, (total - interval) / total]
