import numpy as np


def softsync_numbers(workers, n, gradients):
    c = np.floor_divide(workers, n)
    return np.array([c, gradients // c, (workers - 1) / c])
