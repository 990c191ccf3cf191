def element(cores, index):
    column = cores[-1][:, index[-1], :]
    for k in range(len(cores) - 2, -1, -1):
        column = cores[k][:, index[k], :].matmul(column)
    return column
