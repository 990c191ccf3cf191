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
