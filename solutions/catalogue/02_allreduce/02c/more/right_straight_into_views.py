def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % comm.world_size], right)
        comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left)
        sending.wait()
