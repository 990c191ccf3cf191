# expect: the program ended while messages waited
def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    for step in range(comm.world_size - 1):
        comm.isend(chunks[(comm.rank - step) % comm.world_size], (comm.rank + 1) % comm.world_size)
