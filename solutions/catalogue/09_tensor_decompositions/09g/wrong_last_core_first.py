# expect: The first core's digits count most
def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in reversed(cores):
        rows, columns, _ = matrix.shape
        r, m, n, _ = core.shape
        pairs = torch.einsum("acs,rmns->acmnr", matrix, core)
        matrix = pairs.transpose(1, 2).reshape(rows * m, columns * n, r)
    return matrix[:, :, 0]
