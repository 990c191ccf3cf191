# %% right: from_behind
def tt_svd(tensor, relative_error):
    d = tensor.dim()
    delta = relative_error * torch.linalg.norm(tensor.flatten()).item() / (d - 1) ** 0.5
    cores, right, rest = [], 1, tensor
    for n in reversed(tensor.shape[1:]):
        matrix = rest.reshape(-1, n * right)
        u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
        tails = s.square().flip(0).cumsum(0).flip(0).sqrt()
        kept = max(1, int((tails > delta).sum()))
        cores.insert(0, vh[:kept].reshape(kept, n, right))
        rest, right = u[:, :kept] * s[:kept], kept
    return (rest.reshape(1, tensor.shape[0], right), *cores)


# %% right: values_left
def tt_svd(tensor, relative_error):
    shape = list(tensor.shape)
    most = relative_error**2 * (tensor.double() ** 2).sum().item() / (len(shape) - 1)
    cores, rest = [], tensor.double().reshape(1, -1)
    for n in shape[:-1]:
        r = rest.shape[0]
        u, s, vh = torch.linalg.svd(rest.reshape(r * n, -1), full_matrices=False)
        keep, gone = len(s), 0.0
        while keep > 1 and gone + s[keep - 1].item() ** 2 <= most:
            keep -= 1
            gone += s[keep].item() ** 2
        cores.append(-u[:, :keep].reshape(r, n, keep))
        rest = -torch.diag(s[:keep]) @ vh[:keep, :]
    cores.append(rest.unsqueeze(2))
    return cores
