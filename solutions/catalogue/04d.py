# %% right: gathered
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
    for work in sent:
        work.wait()
    return torch.cat(blocks_of_a, 1) @ torch.cat(blocks_of_b, 0)


# %% right: numpys_grid
import numpy as np


def summa_block(comm, a, b, rows, columns):
    grid = np.arange(rows * columns).reshape(rows, columns)
    (row,), (column,) = np.nonzero(grid == comm.rank)
    got, works = [], []
    for block, ranks in ((a, grid[row]), (b, grid[:, column])):
        works += [comm.isend(block, rank) for rank in ranks if rank != comm.rank]
        got.append([block if rank == comm.rank else torch.empty_like(block) for rank in ranks])
        works += [comm.irecv(box, rank) for box, rank in zip(got[-1], ranks, strict=True) if rank != comm.rank]
    for work in works:
        work.wait()
    return torch.cat(got[0], 1) @ torch.cat(got[1])


# %% right: panel_by_panel
def summa_block(comm, a, b, rows, columns):
    row, column = divmod(comm.rank, columns)
    inner = a.shape[1] * columns
    c = torch.zeros(a.shape[0], b.shape[1])
    for k in range(inner):  # one column of A, one row of B a step
        j, i = k // a.shape[1], k // b.shape[0]
        left, top = torch.empty(a.shape[0]), torch.empty(b.shape[1])
        sent = []
        if column == j:
            left = a[:, k % a.shape[1]].contiguous()
            sent += [comm.isend(left, row * columns + other) for other in range(columns) if other != column]
        if row == i:
            top = b[k % b.shape[0]].contiguous()
            sent += [comm.isend(top, other * columns + column) for other in range(rows) if other != row]
        if column != j:
            comm.recv(left, row * columns + j)
        if row != i:
            comm.recv(top, i * columns + column)
        for work in sent:
            work.wait()
        c += torch.outer(left, top)
    return c
