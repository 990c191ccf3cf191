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
