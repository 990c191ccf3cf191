# %% right: from_y
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


# %% right: stash
def mended_stage(weight, order, xs, y_grads):
    ys, x_grads, stash = [], [], {}
    for word in order:
        kind, number = parts(word)
        if kind == "F":
            stash[number] = weight
            ys.append(weight * xs[number])
        else:
            x_grads.append(stash[number] * y_grads[number])
            weight = weight - xs[number] * y_grads[number]
    return [ys, x_grads, weight]


# %% right: versions
def mended_stage(weight, order, xs, y_grads):
    versions, seen, ys, x_grads = [weight], {}, [], []
    for word in order:
        kind, i = parts(word)
        if kind == "F":
            seen[i] = len(versions) - 1
            ys.append(versions[-1] * xs[i])
        else:
            x_grads.append(versions[seen[i]] * y_grads[i])
            versions.append(versions[-1] - xs[i] * y_grads[i])
    return [ys, x_grads, versions[-1]]
