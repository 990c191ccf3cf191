# expect: a single rank has nobody to talk to
import torch


def ring_reduce_scatter(comm, tensor):
    chunks = list(tensor.tensor_split(comm.world_size))
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    for step in range(comm.world_size):
        outgoing = (comm.rank - step) % comm.world_size
        arriving = (comm.rank - 1 - step) % comm.world_size
        incoming = torch.empty_like(chunks[arriving])
        sending = comm.isend(chunks[outgoing], right)
        comm.recv(incoming, left)
        sending.wait()
        chunks[arriving] += incoming
