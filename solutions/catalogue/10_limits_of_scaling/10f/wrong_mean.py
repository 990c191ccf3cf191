# expect: has the mean; asked for is the sum
def power_step(comm, matrix, q):
    p = matrix @ q
    all_reduce(comm, p)
    p = torch.linalg.qr(p).Q
    new = matrix.T @ p
    all_reduce(comm, new)
    return p @ new.T / comm.world_size
