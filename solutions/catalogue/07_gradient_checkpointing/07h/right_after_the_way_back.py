def mended_average(comm, uses):
    gradients = backward(uses, lambda layer, gradient: None)
    for gradient in gradients:
        all_reduce(comm, gradient)
        gradient.div_(comm.world_size)
    return gradients
