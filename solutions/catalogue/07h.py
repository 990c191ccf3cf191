# %% right: after_the_way_back
def mended_average(comm, uses):
    gradients = backward(uses, lambda layer, gradient: None)
    for gradient in gradients:
        all_reduce(comm, gradient)
        gradient.div_(comm.world_size)
    return gradients


# %% right: first_use
def mended_average(comm, uses):
    """Where a layer is used for the first time its way back ends."""
    first, place, averaged = {}, len(uses), {}
    for number, (layer, _) in enumerate(uses):
        first.setdefault(layer, number)

    def ready(layer, gradient):
        nonlocal place
        place -= 1
        if first[layer] == place:
            mean = gradient / comm.world_size
            all_reduce(comm, mean)
            averaged[layer] = mean

    backward(uses, ready)
    return [averaged[layer] for layer in sorted(first)]


# %% wrong: first_gradient_only
def mended_average(comm, uses):
    averaged = {}

    def ready(layer, gradient):
        if layer not in averaged:
            averaged[layer] = gradient.clone()
            all_reduce(comm, averaged[layer])
            averaged[layer] /= comm.world_size

    backward(uses, ready)
    return [averaged[layer] for layer in sorted(averaged)]
