# expect: the first rank and the last are 1
def subtract(a, b):
    cores = []
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        core = torch.zeros(x.shape[0] + y.shape[0], x.shape[1], x.shape[2] + y.shape[2])
        core[: x.shape[0], :, : x.shape[2]] = x
        core[x.shape[0] :, :, x.shape[2] :] = y if k else -y
        cores.append(core)
    return cores
