# expect: asked for is the mean
def average_cores(comm, gradients):
    row = torch.cat([gradient.reshape(-1) for gradient in gradients])
    all_reduce(comm, row)
    for gradient, part in zip(gradients, row.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.reshape(gradient.shape))
