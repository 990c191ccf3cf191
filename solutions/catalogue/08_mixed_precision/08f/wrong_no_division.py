# expect: asked for is the mean
def mean_in_fp16(comm, gradient):
    p, me = comm.world_size, comm.rank
    halves = gradient.half().tensor_split(p)
    others = [rank for rank in range(p) if rank != me]
    sends = [comm.isend(halves[rank].clone(), rank) for rank in others]
    total = halves[me].float()
    for rank in others:
        arrived = torch.empty(len(halves[me]), dtype=torch.float16)
        comm.recv(arrived, rank)
        total += arrived.float()
    sends += [comm.isend((total / p).half(), rank) for rank in others]
    chunks = gradient.tensor_split(p)
    chunks[me].copy_(total)
    for rank in others:
        arrived = torch.empty(len(chunks[rank]), dtype=torch.float16)
        comm.recv(arrived, rank)
        chunks[rank].copy_(arrived.float() * p)
    for send in sends:
        send.wait()
