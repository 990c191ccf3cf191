# expect: so rank 1 is missing
import torch


def ring_all_gather(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % comm.world_size], right)
        comm.recv(chunks[(comm.rank - step - 1) % comm.world_size], left)
        sending.wait()


def ring_all_reduce(comm, tensor):
    p, r = comm.world_size, comm.rank
    chunks = tensor.tensor_split(p)
    for step in range(p - 1):  # leaves chunk r + 1 finished on rank r
        incoming = torch.empty_like(chunks[(r - step - 1) % p])
        sending = comm.isend(chunks[(r - step) % p], (r + 1) % p)
        comm.recv(incoming, (r - 1) % p)
        sending.wait()
        chunks[(r - step - 1) % p].add_(incoming)
    ring_all_gather(comm, tensor)
