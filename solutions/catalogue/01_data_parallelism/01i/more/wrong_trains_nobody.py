# expect: still holds the weights that it began with
def mended_training(comm, weights, inputs, targets, rate):
    trained = weights.clone()
    for rows, wanted in zip(inputs, targets, strict=True):
        gradient = mean_gradient(trained, rows, wanted)
        all_reduce(comm, gradient)
        trained = trained - rate * gradient / comm.world_size
