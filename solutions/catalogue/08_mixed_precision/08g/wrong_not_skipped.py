# expect: A gradient that overflowed: the step is skipped
def mended_step(weights, scaled, scale, most_norm, rate):
    gradients = [g / scale for g in scaled]
    norm = math.sqrt(sum(g * g for g in gradients))
    if norm > most_norm:
        gradients = [g * most_norm / norm for g in gradients]
    return [w - rate * g for w, g in zip(weights, gradients, strict=False)]
