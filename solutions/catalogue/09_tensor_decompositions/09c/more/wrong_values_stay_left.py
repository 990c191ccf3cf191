# expect: must go on with vᵀ
def tt_svd(tensor, relative_error):
    shape = tensor.shape
    delta = relative_error * tensor.norm() / math.sqrt(len(shape) - 1)
    rest, r, cores = tensor, 1, []
    for n in shape[:-1]:
        u, s, vh = torch.linalg.svd(rest.reshape(r * n, -1), full_matrices=False)
        k = len(s)
        while k > 1 and s[k - 1 :].norm() <= delta:
            k -= 1
        cores.append((u * s)[:, :k].reshape(r, n, k))
        rest, r = vh[:k], k
    cores.append(rest.reshape(r, shape[-1], 1))
    return cores
