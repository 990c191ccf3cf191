import numpy as np


def groups(mesh, dimensions):
    others = [each for each in range(len(mesh)) if each not in dimensions]
    grid = np.arange(np.prod(mesh)).reshape(mesh).transpose(others + sorted(dimensions))
    size = int(np.prod([mesh[each] for each in dimensions]))
    return grid.reshape(-1, size).tolist()
