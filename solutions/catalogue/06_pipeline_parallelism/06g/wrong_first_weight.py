# expect: Not every micro-batch saw the first weight
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, first = [], [], weight
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            ys.append(weight * xs[number])
        else:
            x_grads.append(first * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
