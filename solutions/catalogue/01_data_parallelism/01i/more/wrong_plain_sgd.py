# expect: took plain steps of SGD
def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank > 0:
        weights.zero_()
    all_reduce(comm, weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        all_reduce(comm, g)
        weights -= rate * g / comm.world_size
