# expect: divided by the number of cores
def average_cores(comm, gradients):
    row = torch.cat([g.flatten() for g in gradients])
    all_reduce(comm, row)
    row /= len(gradients)
    at = 0
    for g in gradients:
        g.copy_(row[at : at + g.numel()].reshape(g.shape))
        at += g.numel()
