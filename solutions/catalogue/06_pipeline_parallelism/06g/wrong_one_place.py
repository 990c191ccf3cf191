# expect: One place is not enough
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, stash = [], [], weight
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            stash = weight
            ys.append(weight * xs[number])
        else:
            x_grads.append(stash * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
