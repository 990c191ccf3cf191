# expect: has a row of each neighbor
def halo_rows(comm, mine, height, kernel, stride, padding):
    above, below = comm.rank - 1, comm.rank + 1
    rows, sent = [mine], []
    if above >= 0:
        sent.append(comm.isend(mine[:1].contiguous(), above))
    if below < comm.world_size:
        sent.append(comm.isend(mine[-1:].contiguous(), below))
    if above >= 0:
        box = torch.empty(1, mine.shape[1])
        comm.recv(box, above)
        rows.insert(0, box)
    elif padding:
        rows.insert(0, torch.zeros(padding, mine.shape[1]))
    if below < comm.world_size:
        box = torch.empty(1, mine.shape[1])
        comm.recv(box, below)
        rows.append(box)
    elif padding:
        rows.append(torch.zeros(padding, mine.shape[1]))
    for work in sent:
        work.wait()
    return torch.cat(rows)
