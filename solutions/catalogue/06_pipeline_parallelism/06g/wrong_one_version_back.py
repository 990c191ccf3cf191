# expect: B must not go one version back
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, before = [], [], weight
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            ys.append(weight * xs[number])
        else:
            x_grads.append(before * y_grads[number])
            before = weight
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
