# %% right: blocks
def subtract(a, b):
    cores = []
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        left = 1 if k == 0 else x.shape[0] + y.shape[0]
        right = 1 if k == len(a) - 1 else x.shape[2] + y.shape[2]
        core = torch.zeros(left, x.shape[1], right)
        core[: x.shape[0], :, : x.shape[2]] += x
        core[left - y.shape[0] :, :, right - y.shape[2] :] += -y if k == len(a) - 1 else y
        cores.append(core)
    return cores


# %% right: padding
def subtract(a, b):
    cores, last = [], len(a) - 1
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        y = -y if k == last else y
        below, beside = (0 if k == 0 else 1), (0 if k == last else 1)
        x_padded = torch.nn.functional.pad(x, (0, beside * y.shape[2], 0, 0, 0, below * y.shape[0]))
        y_padded = torch.nn.functional.pad(y, (beside * x.shape[2], 0, 0, 0, below * x.shape[0], 0))
        cores.append(x_padded + y_padded)
    return tuple(cores)
