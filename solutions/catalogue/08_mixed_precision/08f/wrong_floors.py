# expect: has floors of the means
def mean_in_fp16(comm, gradient):
    p, me = comm.world_size, comm.rank
    halves = list(gradient.half().tensor_split(p))
    others = [rank for rank in range(p) if rank != me]
    total, waiting = halves[me].float(), [comm.isend(halves[rank], rank) for rank in others]
    for rank in others:
        arrived = torch.empty_like(halves[me])
        comm.recv(arrived, rank)
        total += arrived.float()
    halves[me] = (total // p).half()
    for work in waiting:
        work.wait()
    waiting = [comm.isend(halves[me], rank) for rank in others]
    for rank in others:
        comm.recv(halves[rank], rank)
    for work in waiting:
        work.wait()
    gradient[:] = torch.cat(halves)
