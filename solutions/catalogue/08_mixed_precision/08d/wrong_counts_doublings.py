# expect: An update is one of the weights, not of the scale
def loss_scales(overflows, scale, interval):
    scales, good, updates = [], 0, 0
    for overflow in overflows:
        scales.append(scale)
        good = 0 if overflow else good + 1
        if overflow:
            scale /= 2
        elif good == interval:
            scale, good, updates = scale * 2, 0, updates + 1
    return [scales, updates]
