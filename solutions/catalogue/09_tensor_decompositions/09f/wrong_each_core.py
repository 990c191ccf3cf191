# expect: join the cores' gradients to one row
def average_cores(comm, gradients):
    for gradient in gradients:
        all_reduce(comm, gradient)
        gradient /= comm.world_size
