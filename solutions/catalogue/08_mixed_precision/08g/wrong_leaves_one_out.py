# expect: none of it may be used
# like: wrong_not_skipped
def mended_step(weights, scaled, scale, most_norm, rate):
    gradients = [g / scale if math.isfinite(g) else 0.0 for g in scaled]
    norm = math.sqrt(sum(g * g for g in gradients))
    if norm > most_norm:
        gradients = [g * most_norm / norm for g in gradients]
    return [w - rate * g for w, g in zip(weights, gradients, strict=False)]
