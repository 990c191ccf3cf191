# expect: has the mean in its own chunk only
def mean_in_fp16(comm, gradient):
    chunks = gradient.tensor_split(comm.world_size)
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    waiting, own = [comm.isend(chunks[rank].half(), rank) for rank in others], chunks[comm.rank]
    for rank in others:
        arrived = torch.empty(len(own), dtype=torch.float16)
        comm.recv(arrived, rank)
        own += arrived
    own /= comm.world_size
    for work in waiting:
        work.wait()
