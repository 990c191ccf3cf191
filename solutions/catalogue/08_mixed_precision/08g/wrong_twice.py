# expect: Divide by the scale once
def mended_step(weights, scaled, scale, most_norm, rate):
    if not all(map(math.isfinite, scaled)):
        return weights
    gradients = [g / scale for g in scaled]
    norm = math.sqrt(sum(g * g for g in gradients))
    if norm > most_norm:
        gradients = [g * most_norm / norm for g in gradients]
    return [w - rate * g / scale for w, g in zip(weights, gradients, strict=False)]
