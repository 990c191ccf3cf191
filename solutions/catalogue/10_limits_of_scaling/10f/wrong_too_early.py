# expect: orthogonalized P before it was summed
def power_step(comm, matrix, q):
    p = matrix @ q
    p = torch.linalg.qr(p).Q
    all_reduce(comm, p)
    new = matrix.T @ p
    all_reduce(comm, new)
    return p @ new.T
