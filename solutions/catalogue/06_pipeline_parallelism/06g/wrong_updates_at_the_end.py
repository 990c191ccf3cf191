# expect: Updates are not put off to the end
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, change = [], [], 0
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            ys.append(weight * xs[number])
        else:
            x_grads.append(weight * y_grads[number])
            change += xs[number] * y_grads[number]
    return [ys, x_grads, weight - change]
