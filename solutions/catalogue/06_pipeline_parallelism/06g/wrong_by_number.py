# expect: not by number
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, stash = [0] * len(xs), [0] * len(xs), {}
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            stash[number] = weight
            ys[number] = weight * xs[number]
        else:
            x_grads[number] = stash[number] * y_grads[number]
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
