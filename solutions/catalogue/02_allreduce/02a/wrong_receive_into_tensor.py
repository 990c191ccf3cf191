# expect: 0 × rank 0 + 1 × rank 1; each belongs in once, so rank 0 is missing
def direct_all_reduce(comm, tensor):
    mine, total = tensor.clone(), tensor.clone()
    for other in range(comm.world_size):
        if other != comm.rank:
            sending = comm.isend(mine, other)
            comm.recv(tensor, other)
            sending.wait()
            total += tensor
