import math


def softsync_numbers(workers, n, gradients):
    c = math.floor(workers / n)
    return float(c), divmod(gradients, c)[0], workers / c - 1 / c
