import numpy as np


def rounded(x, exponent_bits, mantissa_bits):
    x, bias = np.array(x), 2 ** (exponent_bits - 1) - 1
    power = np.maximum(np.frexp(x)[1] - 1, 1 - bias) - mantissa_bits
    y = np.ldexp(np.rint(np.ldexp(x, -power)), power)
    return np.where(abs(y) < 2.0 ** (bias + 1), y, np.copysign(np.inf, x))  # an array of no dimension
