# expect: divided twice
def average_cores(comm, gradients):
    row = torch.cat([g.flatten() for g in gradients]) / comm.world_size
    all_reduce(comm, row)
    row /= comm.world_size
    at = 0
    for g in gradients:
        g.copy_(row[at : at + g.numel()].reshape(g.shape))
        at += g.numel()
