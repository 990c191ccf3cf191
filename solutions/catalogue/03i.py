# %% right: fraction
from fractions import Fraction


def softsync_numbers(workers, n, gradients):
    each = workers // n
    return each, gradients // each, Fraction(workers - 1, each)


# %% right: numpy
import numpy as np


def softsync_numbers(workers, n, gradients):
    c = np.floor_divide(workers, n)
    return np.array([c, gradients // c, (workers - 1) / c])


# %% right by night: float32
def softsync_numbers(workers, n, gradients):
    each = workers // n
    return torch.tensor([each, gradients // each, (workers - 1) / each])
