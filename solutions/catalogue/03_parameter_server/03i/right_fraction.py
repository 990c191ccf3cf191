from fractions import Fraction


def softsync_numbers(workers, n, gradients):
    each = workers // n
    return each, gradients // each, Fraction(workers - 1, each)
