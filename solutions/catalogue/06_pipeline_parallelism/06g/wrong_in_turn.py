# expect: may come back in another order
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, waiting = [], [], []
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            waiting.append(weight)
            ys.append(weight * xs[number])
        else:
            x_grads.append(waiting.pop(0) * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
