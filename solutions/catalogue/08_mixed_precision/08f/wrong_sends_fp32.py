# expect: the messages of this exercise are torch.float16
def mean_in_fp16(comm, gradient):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    sends = [comm.isend(gradient.clone(), rank) for rank in others]
    total = gradient.clone()
    for rank in others:
        arrived = torch.empty_like(gradient)
        comm.recv(arrived, rank)
        total += arrived
    for send in sends:
        send.wait()
    gradient.copy_(total / comm.world_size)
