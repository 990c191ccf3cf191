# expect: That is what it gave before
def mended_step(weights, scaled, scale, most_norm, rate):
    if not all(map(math.isfinite, scaled)):
        return weights
    norm = math.sqrt(sum(g * g for g in scaled))
    if norm > most_norm:
        scaled = [g * most_norm / norm for g in scaled]
    return [w - rate * g / scale for w, g in zip(weights, scaled, strict=False)]
