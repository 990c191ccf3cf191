# expect: one less than modes
def tt_svd(tensor, relative_error):
    delta = relative_error * tensor.norm() / math.sqrt(tensor.dim())
    cores, rest, rank = [], tensor, 1
    for n in tensor.shape[:-1]:
        u, s, vh = torch.linalg.svd(rest.reshape(rank * n, -1), full_matrices=False)
        kept = next(r for r in range(1, len(s) + 1) if s[r:].norm() <= delta)
        cores.append(u[:, :kept].reshape(rank, n, kept))
        rest, rank = s[:kept, None] * vh[:kept], kept
    return [*cores, rest.reshape(rank, -1, 1)]
