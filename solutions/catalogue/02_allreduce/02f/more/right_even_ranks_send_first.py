import torch


def mended_ring(comm, tensor):
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    everything = [tensor.clone()]
    for _ in range(comm.world_size - 1):
        inbox = torch.zeros_like(tensor)
        if comm.rank % 2 == 0:
            comm.send(everything[-1], right)
            comm.recv(inbox, left)
        else:
            comm.recv(inbox, left)
            comm.send(everything[-1], right)
        everything.append(inbox)
    tensor.copy_(torch.stack(everything).sum(0))
    return tensor
