# expect: The whole matrix fits into no memory
def product(cores, x):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        rows, columns, _ = matrix.shape
        _, m, n, s = core.shape
        matrix = torch.einsum("acr,rmns->amcns", matrix, core).reshape(rows * m, columns * n, s)
    return matrix[:, :, 0] @ x
