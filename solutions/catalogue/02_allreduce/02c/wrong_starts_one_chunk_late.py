# expect: In the first step each rank sends its own chunk
def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(1, comm.world_size):
        sending = comm.isend(chunks[(comm.rank - step - 1) % comm.world_size], right)
        comm.recv(chunks[(comm.rank - step - 2) % comm.world_size], left)
        sending.wait()
