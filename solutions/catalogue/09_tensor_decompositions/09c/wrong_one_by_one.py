# expect: of all values behind the rank together
def tt_svd(tensor, relative_error):
    delta = relative_error * tensor.norm() / math.sqrt(tensor.dim() - 1)
    cores, rest, rank = [], tensor, 1
    for n in tensor.shape[:-1]:
        u, s, vh = torch.linalg.svd(rest.reshape(rank * n, -1), full_matrices=False)
        kept = max(1, int((s > delta).sum()))
        cores.append(u[:, :kept].reshape(rank, n, kept))
        rest, rank = s[:kept, None] * vh[:kept], kept
    return [*cores, rest.reshape(rank, -1, 1)]
