# expect: transpose before you reshape
def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        rows, columns, _ = matrix.shape
        _, m, n, s = core.shape
        pairs = torch.tensordot(matrix, core, 1)
        matrix = pairs.reshape(rows * m, columns * n, s)
    return matrix[:, :, 0]
