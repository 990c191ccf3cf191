def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    works = []
    for other in range(comm.world_size):
        if other != comm.rank:
            works += [comm.irecv(chunks[other], other), comm.isend(chunks[comm.rank], other)]
    for work in works:
        work.wait()
