# expect: did not sum P
def power_step(comm, matrix, q):
    p = matrix @ q
    p = torch.linalg.qr(p).Q
    new = matrix.T @ p
    all_reduce(comm, new)
    return p @ new.T
