# %% right: countdown
def loss_scales(overflows, scale, interval):
    scales, left, skipped = [], interval, 0
    for step in range(len(overflows)):
        scales += [scale]
        left -= 1
        if overflows[step]:
            scale *= 0.5
            skipped += 1
        elif left == 0:
            scale *= 2
        if overflows[step] or not left:
            left = interval
    return [scales, len(overflows) - skipped]


# %% right: generator
def loss_scales(overflows, scale, interval):
    def used():
        now, good = scale, 0
        for overflow in overflows:
            yield now
            good = 0 if overflow else good + 1
            now = now / 2 if overflow else now * 2 if good == interval else now
            good %= interval

    return list(used()), sum(not overflow for overflow in overflows)
