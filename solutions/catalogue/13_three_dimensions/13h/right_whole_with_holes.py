def resharded(comm, mine, before, after, shape):
    size = before[1] * before[2]
    whole = torch.zeros(*shape)

    def view(rank, mesh):
        (top, end), (left, right) = part(rank, mesh, shape)
        mask = torch.zeros(*shape, dtype=torch.bool)
        mask[top:end, left:right] = True
        return mask

    whole[view(comm.rank, before)] = mine.flatten()
    sent = []
    for rank in range(comm.world_size):
        wanted = view(rank, after) & ~view(rank, before) & view(comm.rank, before)
        if comm.rank < size and wanted.any():
            sent.append(comm.isend(whole[wanted], rank))
    for rank in range(size):
        wanted = view(comm.rank, after) & ~view(comm.rank, before) & view(rank, before)
        if wanted.any():
            box = torch.empty(int(wanted.sum()))
            comm.recv(box, rank)
            whole[wanted] = box
    for work in sent:
        work.wait()
    (top, end), (left, right) = part(comm.rank, after, shape)
    return whole[top:end, left:right]
