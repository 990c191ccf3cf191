import torch


def ring_reduce_scatter(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size - 1):
        arriving = chunks[(comm.rank - 2 - step) % comm.world_size]
        incoming = torch.empty_like(arriving)
        sending = comm.isend(chunks[(comm.rank - 1 - step) % comm.world_size], right)
        comm.recv(incoming, left)
        sending.wait()
        arriving += incoming


def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % comm.world_size], right)
        comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left)
        sending.wait()


def ring_all_reduce(comm, tensor):
    ring_reduce_scatter(comm, tensor)
    ring_all_gather(comm, tensor)
