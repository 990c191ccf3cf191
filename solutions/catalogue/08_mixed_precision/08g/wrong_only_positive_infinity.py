# expect: with the scaled gradients [-inf, 8.0]
# like: wrong_not_skipped
def mended_step(weights, scaled, scale, most_norm, rate):
    if math.inf in scaled or any(map(math.isnan, scaled)):
        return weights
    gradient = [g / scale for g in scaled]
    norm = math.hypot(*gradient)
    if norm > most_norm:
        gradient = [g * most_norm / norm for g in gradient]
    return [w - rate * g for w, g in zip(weights, gradient, strict=True)]
