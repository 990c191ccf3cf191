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
