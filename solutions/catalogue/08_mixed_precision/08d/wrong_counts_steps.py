# expect: A step that overflows is skipped
def loss_scales(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        scales.append(scale)
        good = 0 if overflow else good + 1
        if overflow:
            scale = scale / 2
        elif good == interval:
            scale, good = scale * 2, 0
    return [scales, len(scales)]
