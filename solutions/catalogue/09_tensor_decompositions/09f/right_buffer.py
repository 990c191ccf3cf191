def average_cores(comm, gradients):
    row = torch.empty(sum(core.numel() for core in gradients))
    start = 0
    for core in gradients:
        row[start : start + core.numel()] = core.flatten()
        start += core.numel()
    all_reduce(comm, row)
    start = 0
    for k, core in enumerate(gradients):
        gradients[k] = (row[start : start + core.numel()] / comm.world_size).view_as(core)
        start += core.numel()
