# %% right: einsum
def mended_matrix(cores):
    matrix = torch.ones(1, 1, 1)
    for core in cores:
        matrix = torch.einsum("acr,rmns->amcns", matrix, core).flatten(2, 3).flatten(0, 1)
    return matrix.squeeze(2)


# %% right: entries
def mended_matrix(cores):
    rows, columns = math.prod(c.shape[1] for c in cores), math.prod(c.shape[2] for c in cores)
    lines = []
    for i in range(rows):
        line = []
        for j in range(columns):
            entry, a, b = torch.ones(1, 1), i, j
            for core in reversed(cores):
                entry = core[:, a % core.shape[1], b % core.shape[2]] @ entry
                a, b = a // core.shape[1], b // core.shape[2]
            line.append(entry.item())
        lines.append(line)
    return lines
