# expect: did not sum Q
def power_step(comm, matrix, q):
    p = matrix @ q
    all_reduce(comm, p)
    p = torch.linalg.qr(p).Q
    new = matrix.T @ p
    return p @ new.T
