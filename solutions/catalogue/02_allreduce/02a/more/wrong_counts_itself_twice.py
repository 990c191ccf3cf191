# expect: 2 × rank 0 + 1 × rank 1; each belongs in once
def direct_all_reduce(comm, tensor):
    inboxes = [tensor.clone() for _ in range(comm.world_size)]
    works = []
    for rank in range(comm.world_size):
        if rank != comm.rank:
            works += [comm.irecv(inboxes[rank], rank), comm.isend(tensor, rank)]
    for work in works:
        work.wait()
    if comm.world_size > 1:
        for inbox in inboxes:
            tensor += inbox
