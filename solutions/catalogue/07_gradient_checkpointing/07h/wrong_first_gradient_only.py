def mended_average(comm, uses):
    averaged = {}

    def ready(layer, gradient):
        if layer not in averaged:
            averaged[layer] = gradient.clone()
            all_reduce(comm, averaged[layer])
            averaged[layer] /= comm.world_size

    backward(uses, ready)
    return [averaged[layer] for layer in sorted(averaged)]
