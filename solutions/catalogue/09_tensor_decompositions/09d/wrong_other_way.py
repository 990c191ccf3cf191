# expect: That is B − A
def subtract(a, b):
    if len(a) == 1:
        return [b[0] - a[0]]
    cores = [torch.cat([-a[0], b[0]], 2)]
    for x, y in zip(a[1:-1], b[1:-1], strict=True):
        core = torch.zeros(x.shape[0] + y.shape[0], x.shape[1], x.shape[2] + y.shape[2])
        core[: x.shape[0], :, : x.shape[2]] = x
        core[x.shape[0] :, :, x.shape[2] :] = y
        cores.append(core)
    return [*cores, torch.cat([a[-1], b[-1]], 0)]
