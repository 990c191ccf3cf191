# expect: Only gradients longer than the limit are shortened
def mended_step(weights, scaled, scale, most_norm, rate):
    if not all(map(math.isfinite, scaled)):
        return weights
    norm = math.sqrt(sum(g * g for g in scaled))
    return [w - rate * g * most_norm / norm for w, g in zip(weights, scaled, strict=False)]
