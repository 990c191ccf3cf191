from itertools import starmap


def mended_seeds(tensor, data, sequence_cut):
    n = tensor * data
    return range(n), (
        range(n)
        if sequence_cut
        else starmap(lambda d, _: d * tensor, [(d, t) for d in range(data) for t in range(tensor)])
    )
