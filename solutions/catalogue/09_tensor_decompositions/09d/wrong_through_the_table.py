# expect: the table itself fits into no memory
def subtract(a, b):
    def table(cores):
        whole = cores[0]
        for core in cores[1:]:
            whole = torch.tensordot(whole, core, 1)
        return whole[0, ..., 0]

    rest, rank, cores = table(a) - table(b), 1, []
    for k, core in enumerate(a[:-1]):
        n, enough = core.shape[1], core.shape[2] + b[k].shape[2]
        u, s, vh = torch.linalg.svd(rest.reshape(rank * n, -1), full_matrices=False)
        kept = min(enough, len(s))
        cores.append(u[:, :kept].reshape(rank, n, kept))
        rest, rank = s[:kept, None] * vh[:kept], kept
    return [*cores, rest.reshape(rank, -1, 1)]
