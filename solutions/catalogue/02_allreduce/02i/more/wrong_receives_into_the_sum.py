# expect: 0 × rank 0 + 2 × rank 1
def doubling_all_reduce(comm, tensor):
    core = 2 ** (comm.world_size.bit_length() - 1)
    distance = 1
    while distance < core:
        mine = tensor.clone()
        sending = comm.isend(mine, comm.rank ^ distance)
        comm.recv(tensor, comm.rank ^ distance)
        sending.wait()
        tensor += tensor
        distance *= 2
