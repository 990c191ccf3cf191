def saving(interval, save, restart, chance):
    mean = 1 / chance
    young = (2 * save * mean) ** 0.5
    daly = mean
    if save < 2 * mean:
        half = save / (2 * mean)
        daly = young * (1 + half**0.5 / 3 + half / 9) - save
    attempts = (1 - chance) ** -(interval + save)
    return young, daly, 1 - interval / ((attempts - 1) * (mean + restart))
