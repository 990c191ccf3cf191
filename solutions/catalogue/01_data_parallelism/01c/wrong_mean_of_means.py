# expect: as if all were equally long
def accumulate(comm, gradients, examples):
    mean = sum(gradients) / len(gradients)
    all_reduce(comm, mean)
    return mean / comm.world_size
