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
