# expect: deadlock
def summa_block(comm, a, b, rows, columns):
    row, column = divmod(comm.rank, columns)
    inner = a.shape[1] * columns
    mates = [row * columns + j for j in range(columns) if j != column]
    peers = [i * columns + column for i in range(rows) if i != row]
    for rank in mates:
        comm.send(a, rank)
    for rank in peers:
        comm.send(b, rank)
    left = [a] + [torch.empty(a.shape[0], inner // columns) for _ in mates]
    top = [b] + [torch.empty(inner // rows, b.shape[1]) for _ in peers]
    for block, rank in zip(left[1:] + top[1:], mates + peers, strict=True):
        comm.recv(block, rank)
    return torch.cat(left, 1) @ torch.cat(top, 0)
