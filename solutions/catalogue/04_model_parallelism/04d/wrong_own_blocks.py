# expect: its own two blocks only
def summa_block(comm, a, b, rows, columns):
    if a.shape[1] != b.shape[0]:
        return torch.zeros(a.shape[0], b.shape[1])
    return a @ b
