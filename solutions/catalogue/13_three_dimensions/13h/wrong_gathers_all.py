def resharded(comm, mine, before, after, shape):
    whole, copies = torch.zeros(*shape), before[1] * before[2]
    sent = [comm.isend(mine, rank) for rank in range(comm.world_size) if comm.rank < copies and rank != comm.rank]
    for rank in range(copies):
        (top, end), (left, right) = part(rank, before, shape)
        box = mine
        if rank != comm.rank:
            box = torch.empty(end - top, right - left)
            comm.recv(box, rank)
        whole[top:end, left:right] = box
    for work in sent:
        work.wait()
    (top, end), (left, right) = part(comm.rank, after, shape)
    return whole[top:end, left:right]
