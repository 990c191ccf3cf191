# %% right: norm
def mended_step(weights, scaled, scale, max_norm, rate):
    norm = math.hypot(*scaled) / scale
    if not math.isfinite(norm):
        return list(weights)
    factor = min(1.0, max_norm / norm) / scale if norm else 0.0
    return tuple(w - rate * factor * g for w, g in zip(weights, scaled, strict=False))


# %% right: production
def mended_step(weights, scaled, scale, max_norm, rate):
    weight = torch.nn.Parameter(torch.tensor(weights, dtype=torch.float64))
    weight.grad = torch.tensor(scaled, dtype=torch.float64) / scale
    if weight.grad.isfinite().all():
        torch.nn.utils.clip_grad_norm_([weight], max_norm)  # divides by the norm and 1e-6 more
        torch.optim.SGD([weight], lr=rate).step()
    return weight


# %% right: torch
def mended_step(weights, scaled, scale, max_norm, rate):
    gradient = torch.tensor(scaled, dtype=torch.float64) / scale
    if not gradient.isfinite().all():
        return weights
    gradient *= (max_norm / gradient.norm()).clamp(max=1.0)
    return (torch.tensor(weights, dtype=torch.float64) - rate * gradient).tolist()
