# expect: That is Wᵀ: a core is
def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        rows, columns, _ = matrix.shape
        core = core.transpose(1, 2)
        _, m, n, s = core.shape
        pairs = torch.tensordot(matrix, core, 1)
        matrix = pairs.transpose(1, 2).reshape(rows * m, columns * n, s)
    return matrix[:, :, 0]
