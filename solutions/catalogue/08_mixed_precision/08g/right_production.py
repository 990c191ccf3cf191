def mended_step(weights, scaled, scale, max_norm, rate):
    weight = torch.nn.Parameter(torch.tensor(weights, dtype=torch.float64))
    weight.grad = torch.tensor(scaled, dtype=torch.float64) / scale
    if weight.grad.isfinite().all():
        torch.nn.utils.clip_grad_norm_([weight], max_norm)  # divides by the norm and 1e-6 more
        torch.optim.SGD([weight], lr=rate).step()
    return weight
