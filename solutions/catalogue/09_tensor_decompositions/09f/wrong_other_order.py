# expect: in another order than they went in
def average_cores(comm, gradients):
    row = torch.cat([gradient.reshape(-1) for gradient in gradients])
    all_reduce(comm, row)
    row /= comm.world_size
    start = 0
    for gradient in reversed(gradients):
        gradient.copy_(row[start : start + gradient.numel()].reshape(gradient.shape))
        start += gradient.numel()
