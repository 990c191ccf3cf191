# expect: go on where the core before ended
def average_cores(comm, gradients):
    row = torch.cat([gradient.reshape(-1) for gradient in gradients])
    all_reduce(comm, row)
    row /= comm.world_size
    for gradient in gradients:
        gradient.copy_(row[: gradient.numel()].reshape(gradient.shape))
