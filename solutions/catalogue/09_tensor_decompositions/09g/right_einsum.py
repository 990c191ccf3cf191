def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        matrix = torch.einsum("acr,rmns->amcns", matrix, core).flatten(2, 3).flatten(0, 1)
    return matrix.squeeze(2)
