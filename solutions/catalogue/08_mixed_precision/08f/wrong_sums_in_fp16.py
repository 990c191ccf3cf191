# expect: a sum of gradients is beyond 65504
def mean_in_fp16(comm, gradient):
    halves, me, p = gradient.half().tensor_split(comm.world_size), comm.rank, comm.world_size
    total = halves[me].clone()
    others = [rank for rank in range(p) if rank != me]
    sends = [comm.isend(halves[rank].clone(), rank) for rank in others]
    for rank in others:
        arrived = torch.empty_like(total)
        comm.recv(arrived, rank)
        total += arrived
    total /= p
    sends += [comm.isend(total, rank) for rank in others]
    chunks = gradient.tensor_split(p)
    chunks[me].copy_(total)
    for rank in others:
        arrived = torch.empty(len(chunks[rank]), dtype=torch.float16)
        comm.recv(arrived, rank)
        chunks[rank].copy_(arrived)
    for send in sends:
        send.wait()
