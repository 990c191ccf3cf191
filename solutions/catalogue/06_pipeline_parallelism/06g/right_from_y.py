def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, y_of = [], [], {}
    for word in order:
        kind, i = parts(word)
        if kind == "F":
            y_of[i] = weight * xs[i]
            ys.append(y_of[i])
        else:
            x_grads.append(y_of[i] // xs[i] * y_grads[i])
            weight -= xs[i] * y_grads[i]
    return ys, x_grads, weight
