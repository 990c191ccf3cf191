def mended_stage(weight, order, xs, y_grads):
    ys, x_grads = [None] * len(xs), []
    for word in order:
        kind, i = parts(word)
        if kind == "F":
            ys[i] = weight * xs[i]
        else:
            x_grads.append(ys[i] // xs[i] * y_grads[i])
            weight -= xs[i] * y_grads[i]
    return ys, x_grads, weight
