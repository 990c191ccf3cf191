def mended_step(weights, scaled, scale, max_norm, rate):
    norm = math.hypot(*scaled) / scale
    if not math.isfinite(norm):
        return list(weights)
    factor = min(1.0, max_norm / norm) / scale if norm else 0.0
    return tuple(w - rate * factor * g for w, g in zip(weights, scaled, strict=False))
