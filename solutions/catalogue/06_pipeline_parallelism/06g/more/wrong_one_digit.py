# expect: may have two digits
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, stash = [], [], {}
    for word in order:
        kind, number = word[0], int(word[1])
        if kind == "F":
            stash[number] = weight
            ys.append(weight * xs[number])
        else:
            x_grads.append(stash[number] * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]
