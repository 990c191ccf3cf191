# expect: That is what it gave before: which side
def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        rows, columns, _ = matrix.shape
        _, n, m, s = core.shape
        pairs = torch.tensordot(matrix, core, 1)
        matrix = pairs.transpose(1, 2).reshape(rows * m, columns * n, s)
    return matrix[:, :, 0]
