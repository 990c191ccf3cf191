# %% right: numpy
import numpy as np


def moved(rank, mesh, dimension, steps):
    places = np.array(np.unravel_index(rank, mesh))
    there = places.copy()
    there[dimension] += steps
    return places, np.ravel_multi_index(tuple(there), mesh, mode="wrap")


# %% right: strides
def moved(rank, mesh, dimension, steps):
    strides = [1]
    for size in mesh[:0:-1]:
        strides = [strides[0] * size] + strides
    places = [rank // stride % size for stride, size in zip(strides, mesh, strict=True)]
    there = (places[dimension] + steps) % mesh[dimension]
    return places, rank + (there - places[dimension]) * strides[dimension]
