# expect: one tensor up each edge of the tree
def tree_all_reduce(comm, tensor):
    parts = [tensor.clone() for _ in range(comm.world_size)]
    works = []
    for other in range(comm.world_size):
        if other != comm.rank:
            works += [comm.irecv(parts[other], other), comm.isend(parts[comm.rank], other)]
    for work in works:
        work.wait()
    tensor.copy_(sum(parts))
