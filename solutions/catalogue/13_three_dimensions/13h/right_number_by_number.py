def resharded(comm, mine, before, after, shape):
    def numbers(rank, mesh):
        rows, columns = part(rank, mesh, shape)
        return [(row, column) for row in range(*rows) for column in range(*columns)]

    ranks = range(comm.world_size)
    has = [numbers(rank, before) for rank in ranks]
    lacks = [[number for number in numbers(rank, after) if number not in has[rank]] for rank in ranks]
    first = {}
    for rank in reversed(ranks):
        first |= dict.fromkeys(has[rank], rank)
    values, waits, boxes = dict(zip(has[comm.rank], mine.flatten(), strict=True)), [], []
    for rank in ranks:
        out = [values[number] for number in lacks[rank] if first[number] == comm.rank]
        come = [number for number in lacks[comm.rank] if first[number] == rank]
        if out:
            waits.append(comm.isend(torch.stack(out), rank))
        if come:
            boxes.append((come, torch.empty(len(come))))
            waits.append(comm.irecv(boxes[-1][1], rank))
    for work in waits:
        work.wait()
    for come, box in boxes:
        values |= dict(zip(come, box, strict=True))
    (top, end), (left, right) = part(comm.rank, after, shape)
    new = [values[number] for number in numbers(comm.rank, after)]
    return (torch.stack(new) if new else torch.empty(0)).reshape(end - top, right - left)
