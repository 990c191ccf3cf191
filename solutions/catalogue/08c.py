# %% right: loop
def fates(gradients, scale):
    lost = kept = overflowed = 0
    for gradient in gradients:
        if gradient == 0:
            continue
        magnitude = abs(gradient) * scale
        if magnitude <= 2.0**-25:
            lost += 1
        elif magnitude >= 65520:
            overflowed += 1
        else:
            kept += 1
    return lost, kept, overflowed


# %% right: torch
def fates(gradients, scale):
    true = torch.tensor(gradients, dtype=torch.float64)
    stored = (true * scale).half()[true != 0]
    return [int((stored == 0).sum()), int((stored.isfinite() & (stored != 0)).sum()), int(stored.isinf().sum())]
