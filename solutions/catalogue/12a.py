# %% right: closed_form
def saving(interval, save, restart, chance):
    mean = 1 / chance
    young = (2 * save * mean) ** 0.5
    daly = mean
    if save < 2 * mean:
        half = save / (2 * mean)
        daly = young * (1 + half**0.5 / 3 + half / 9) - save
    attempts = (1 - chance) ** -(interval + save)
    return young, daly, 1 - interval / ((attempts - 1) * (mean + restart))


# %% right: sum_of_powers
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
