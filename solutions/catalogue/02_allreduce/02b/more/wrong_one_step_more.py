# expect: every chunk has come round
def ring_reduce_scatter(comm, tensor):
    chunks = tensor.tensor_split(comm.world_size)
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size if comm.world_size > 1 else 0):
        outgoing, arriving = ((comm.rank - step - each) % comm.world_size for each in (1, 2))
        incoming = torch.empty_like(chunks[arriving])
        sending = comm.isend(chunks[outgoing], right)
        comm.recv(incoming, left)
        sending.wait()
        if step + 1 < comm.world_size:
            chunks[arriving].add_(incoming)
