# expect: whose columns are not orthogonal
def power_step(comm, matrix, q):
    p = matrix @ q
    all_reduce(comm, p)
    p = p.clone()
    new = matrix.T @ p
    all_reduce(comm, new)
    return p @ new.T
