def mended_step(weights, scaled, scale, max_norm, rate):
    gradient = torch.tensor(scaled, dtype=torch.float64) / scale
    if not gradient.isfinite().all():
        return weights
    gradient *= (max_norm / gradient.norm()).clamp(max=1.0)
    return (torch.tensor(weights, dtype=torch.float64) - rate * gradient).tolist()
