import numpy as np


def moved(rank, mesh, dimension, steps):
    places = np.array(np.unravel_index(rank, mesh))
    there = places.copy()
    there[dimension] += steps
    return places, np.ravel_multi_index(tuple(there), mesh, mode="wrap")
