# expect: weighs inside each rank as it should
def accumulate(comm, gradients, examples):
    mean = sum(n * gradient for n, gradient in zip(examples, gradients, strict=True)) / sum(examples)
    all_reduce(comm, mean)
    return mean / comm.world_size
