# expect: by the norm of the whole matrix
def power_step(comm, matrix, q):
    p = matrix @ q
    all_reduce(comm, p)
    p = p / p.norm()
    q = matrix.T @ p
    all_reduce(comm, q)
    return p @ q.T
