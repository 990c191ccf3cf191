# expect: it loses the updates in between
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, stash = [], [], {}
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            stash[number] = weight
            ys.append(weight * xs[number])
        else:
            x_grads.append(stash[number] * y_grads[number])
            weight = stash[number] - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
