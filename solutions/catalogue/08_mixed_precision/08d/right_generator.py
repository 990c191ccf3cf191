def loss_scales(overflows, scale, interval):
    def used():
        now, good = scale, 0
        for overflow in overflows:
            yield now
            good = 0 if overflow else good + 1
            now = now / 2 if overflow else now * 2 if good == interval else now
            good %= interval

    return list(used()), sum(not overflow for overflow in overflows)
