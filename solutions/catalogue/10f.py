# %% right: gathered
def power_step(comm, matrix, q):
    def total(own):
        others = [rank for rank in range(comm.world_size) if rank != comm.rank]
        sends, parts = [comm.isend(own, rank) for rank in others], {comm.rank: own}
        for rank in others:
            parts[rank] = torch.empty_like(own)
            comm.recv(parts[rank], rank)
        [send.wait() for send in sends]
        return sum(parts[rank] for rank in range(comm.world_size))

    left = torch.linalg.svd(total((matrix @ q).contiguous()), full_matrices=False).U
    return left @ total((matrix.T @ left).contiguous()).T


# %% right: gram_schmidt
def power_step(comm, matrix, q):
    p = matrix.double() @ q.double()
    p = p.float()
    all_reduce(comm, p)
    columns = []
    for column in p.T:
        for other in columns:
            column = column - (column @ other) * other
        columns.append(column / column.norm())
    basis = torch.stack(columns, dim=1)
    rest = basis.T @ matrix
    all_reduce(comm, rest)
    return basis @ rest
