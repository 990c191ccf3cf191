def power_step(comm, matrix, q):
    p = matrix.double() @ q.double()
    p = p.float()
    all_reduce(comm, p)
    columns = []
    for column in p.T:
        for other in columns:
            column = column - (column @ other) * other
        columns.append(column / column.norm())
    basis = torch.stack(columns, dim=1)
    rest = basis.T @ matrix
    all_reduce(comm, rest)
    return basis @ rest
