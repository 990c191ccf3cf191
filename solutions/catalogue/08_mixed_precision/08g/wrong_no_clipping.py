# expect: Gradients longer than the limit are still clipped
def mended_step(weights, scaled, scale, most_norm, rate):
    if not all(map(math.isfinite, scaled)):
        return weights
    return [w - rate * g / scale for w, g in zip(weights, scaled, strict=False)]
