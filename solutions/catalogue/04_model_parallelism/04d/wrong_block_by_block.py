# expect: is not as wide
def summa_block(comm, a, b, rows, columns):
    row, column = divmod(comm.rank, columns)
    blocks_of_a, blocks_of_b, sends = [], [], []
    for other in range(columns):
        blocks_of_a.append(a if other == column else torch.empty_like(a))
        if other != column:
            sends.append(comm.isend(a, row * columns + other))
    for other in range(rows):
        blocks_of_b.append(b if other == row else torch.empty_like(b))
        if other != row:
            sends.append(comm.isend(b, other * columns + column))
    for other in range(columns):
        if other != column:
            comm.recv(blocks_of_a[other], row * columns + other)
    for other in range(rows):
        if other != row:
            comm.recv(blocks_of_b[other], other * columns + column)
    for send in sends:
        send.wait()
    return sum(left @ right for left, right in zip(blocks_of_a, blocks_of_b, strict=False))
