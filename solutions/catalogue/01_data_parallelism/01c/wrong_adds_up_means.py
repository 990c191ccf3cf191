# expect: the step gets longer with every micro-batch
def accumulate(comm, gradients, examples):
    grad = sum(gradients)
    all_reduce(comm, grad)
    return grad / comm.world_size
