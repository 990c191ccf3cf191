# expect: times the cores' numbers, without padding
def average_cores(comm, gradients):
    longest = max(gradient.numel() for gradient in gradients)
    table = torch.zeros(len(gradients), longest)
    for line, gradient in zip(table, gradients, strict=True):
        line[: gradient.numel()] = gradient.reshape(-1)
    all_reduce(comm, table)
    for line, gradient in zip(table, gradients, strict=True):
        gradient.copy_(line[: gradient.numel()].reshape(gradient.shape) / comm.world_size)
