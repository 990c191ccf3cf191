# expect: Nothing was left out
def tt_svd(tensor, relative_error):
    cores, rest, rank = [], tensor, 1
    for n in tensor.shape[:-1]:
        u, s, vh = torch.linalg.svd(rest.reshape(rank * n, -1), full_matrices=False)
        cores.append(u.reshape(rank, n, len(s)))
        rest, rank = s[:, None] * vh, len(s)
    return [*cores, rest.reshape(rank, -1, 1)]
