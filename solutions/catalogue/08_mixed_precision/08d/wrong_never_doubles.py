# expect: Good steps in a row double the scale
def loss_scales(overflows, scale, interval):
    scales = []
    for overflow in overflows:
        scales.append(scale)
        scale = scale / 2 if overflow else scale
    return [scales, overflows.count(False)]
