# expect: After an overflow the good steps are counted from 0 again
def loss_scales(overflows, scale, interval):
    scales, good, updates = [], 0, 0
    for overflow in overflows:
        scales.append(scale)
        if overflow:
            scale = scale / 2
            continue
        updates, good = updates + 1, good + 1
        if good == interval:
            scale, good = scale * 2, 0
    return [scales, updates]
