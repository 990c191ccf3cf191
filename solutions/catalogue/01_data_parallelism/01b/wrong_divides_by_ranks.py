# expect: the number of ranks; divide by that of examples
def average_gradient(comm, gradient, examples):
    gradient.mul_(examples).nan_to_num_()
    all_reduce(comm, gradient)
    gradient /= comm.world_size
