# expect: add each step's product to C
def summa_block(comm, a, b, rows, columns):
    return torch.zeros(a.shape[0], b.shape[1])
