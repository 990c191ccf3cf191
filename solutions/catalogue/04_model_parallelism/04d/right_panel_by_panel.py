def summa_block(comm, a, b, rows, columns):
    row, column = divmod(comm.rank, columns)
    inner = a.shape[1] * columns
    c = torch.zeros(a.shape[0], b.shape[1])
    for k in range(inner):  # one column of A, one row of B a step
        j, i = k // a.shape[1], k // b.shape[0]
        left, top = torch.empty(a.shape[0]), torch.empty(b.shape[1])
        sent = []
        if column == j:
            left = a[:, k % a.shape[1]].contiguous()
            sent += [comm.isend(left, row * columns + other) for other in range(columns) if other != column]
        if row == i:
            top = b[k % b.shape[0]].contiguous()
            sent += [comm.isend(top, other * columns + column) for other in range(rows) if other != row]
        if column != j:
            comm.recv(left, row * columns + j)
        if row != i:
            comm.recv(top, i * columns + column)
        for work in sent:
            work.wait()
        c += torch.outer(left, top)
    return c
