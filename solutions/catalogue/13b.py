# %% right: numpy
import numpy as np


def groups(mesh, dimensions):
    others = [each for each in range(len(mesh)) if each not in dimensions]
    grid = np.arange(np.prod(mesh)).reshape(mesh).transpose(others + sorted(dimensions))
    size = int(np.prod([mesh[each] for each in dimensions]))
    return grid.reshape(-1, size).tolist()


# %% right: product
import itertools


def groups(mesh, dimensions):
    places = list(itertools.product(*map(range, mesh)))
    done, found = set(), []
    for rank, here in enumerate(places):
        if rank in done:
            continue
        together = [
            other
            for other, there in enumerate(places)
            if all(a == b for d, (a, b) in enumerate(zip(here, there, strict=True)) if d not in dimensions)
        ]
        done.update(together)
        found.append(tuple(together))
    return tuple(found)
