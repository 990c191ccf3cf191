# expect: That is what it gave before
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads = [], []
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            ys.append(weight * xs[number])
        else:
            x_grads.append(weight * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
