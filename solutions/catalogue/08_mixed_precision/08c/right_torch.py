def fates(gradients, scale):
    true = torch.tensor(gradients, dtype=torch.float64)
    stored = (true * scale).half()[true != 0]
    return [int((stored == 0).sum()), int((stored.isfinite() & (stored != 0)).sum()), int(stored.isinf().sum())]
