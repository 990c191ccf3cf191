# expect: but not orthogonal to each other
def power_step(comm, matrix, q):
    p = matrix @ q
    all_reduce(comm, p)
    p = p / p.norm(dim=0)
    new = matrix.T @ p
    all_reduce(comm, new)
    return p @ new.T
