# expect: The scale has no lower end
def loss_scales(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        scales.append(scale)
        good = 0 if overflow else good + 1
        if overflow:
            scale = max(1, scale / 2)
        elif good == interval:
            scale, good = scale * 2, 0
    return [scales, overflows.count(False)]
