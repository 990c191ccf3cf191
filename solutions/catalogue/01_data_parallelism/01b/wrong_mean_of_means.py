def average_gradient(comm, gradient, examples):
    if not examples:
        gradient.zero_()
    all_reduce(comm, gradient)
    gradient /= comm.world_size
