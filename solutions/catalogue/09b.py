# %% right: from_behind
def element(cores, index):
    column = cores[-1][:, index[-1], :]
    for k in range(len(cores) - 2, -1, -1):
        column = cores[k][:, index[k], :].matmul(column)
    return column


# %% right: plain_sums
def element(cores, index):
    row = [1]
    for core, i in zip(cores, index, strict=True):
        numbers = core[:, i, :].tolist()
        row = [sum(a * b[k] for a, b in zip(row, numbers, strict=True)) for k in range(len(numbers[0]))]
    return int(row[0])
