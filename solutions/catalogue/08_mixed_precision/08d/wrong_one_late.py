# expect: It doubles after `interval` good steps in a row, not after one more
def loss_scales(overflows, scale, interval):
    scales, good, updates = [], 0, 0
    for overflow in overflows:
        scales.append(scale)
        if overflow:
            scale, good = scale / 2, 0
            continue
        updates, good = updates + 1, good + 1
        if good > interval:
            scale, good = scale * 2, 0
    return [scales, updates]
