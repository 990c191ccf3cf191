# expect: only P and Q cross the wire
def power_step(comm, matrix, q):
    matrix = matrix.clone()
    all_reduce(comm, matrix)
    p = torch.linalg.qr(matrix @ q).Q
    return p @ p.T @ matrix
