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
