# expect: write the means into `gradients`
def average_cores(comm, gradients):
    row = torch.cat([gradient.reshape(-1) for gradient in gradients])
    all_reduce(comm, row)
    row /= comm.world_size
    return [part.reshape(g.shape) for g, part in zip(gradients, row.split([g.numel() for g in gradients]), strict=True)]
