# expect: A list holds the scale that each step *used*
def loss_scales(overflows, scale, interval):
    scales, good, updates = [], 0, 0
    for overflow in overflows:
        if overflow:
            scale, good = scale / 2, 0
        else:
            updates, good = updates + 1, good + 1
            if good == interval:
                scale, good = scale * 2, 0
        scales.append(scale)
    return [scales, updates]
