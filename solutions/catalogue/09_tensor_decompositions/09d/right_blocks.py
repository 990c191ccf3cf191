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
