# expect: what a cut has left is smaller
def tt_svd(tensor, relative_error):
    cores, rest, rank = [], tensor, 1
    for n in tensor.shape[:-1]:
        delta = relative_error * rest.norm() / math.sqrt(tensor.dim() - 1)
        u, s, vh = torch.linalg.svd(rest.reshape(rank * n, -1), full_matrices=False)
        kept = next(r for r in range(1, len(s) + 1) if s[r:].norm() <= delta)
        cores.append(u[:, :kept].reshape(rank, n, kept))
        rest, rank = s[:kept, None] * vh[:kept], kept
    return [*cores, rest.reshape(rank, -1, 1)]
