def outer_step(comm, common, own, velocity, rate, momentum):
    mean = own.clone()
    all_reduce(comm, mean)
    gradient = common - mean / comm.world_size
    new = gradient.add(velocity, alpha=momentum)
    return new.mul(momentum).add(gradient).mul(-rate).add(common), new
