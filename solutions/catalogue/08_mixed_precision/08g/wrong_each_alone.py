# expect: The limit holds for the norm of all gradients together
def mended_step(weights, scaled, scale, most_norm, rate):
    if not all(map(math.isfinite, scaled)):
        return weights
    gradients = [max(-most_norm, min(most_norm, g / scale)) for g in scaled]
    return [w - rate * g for w, g in zip(weights, gradients, strict=False)]
