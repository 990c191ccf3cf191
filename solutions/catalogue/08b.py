# %% right: all_numbers
def rounded(x, exponent_bits, mantissa_bits):
    bias, steps = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits

    def value(code):  # the codes of positive numbers stand in order
        exponent, mantissa = divmod(code, steps)
        return math.ldexp(mantissa + steps * (exponent > 0), max(exponent, 1) - bias - mantissa_bits)

    low, high = 0, (2**exponent_bits - 1) * steps
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= abs(x) else (low, middle)
    left, right = abs(x) - value(low), value(high) - abs(x)
    code = low if left < right or (left == right and low % 2 == 0) else high
    found = math.inf if code == (2**exponent_bits - 1) * steps else value(code)
    return -found if x < 0 else found


# %% right: by_hand
def rounded(x, exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    power = 1 - bias
    while 2.0 ** (power + 1) <= abs(x):
        power += 1
    spacing = 2.0 ** (power - mantissa_bits)
    below = math.floor(abs(x) / spacing)
    beyond = abs(x) / spacing - below
    if beyond > 0.5 or (beyond == 0.5 and below % 2 == 1):
        below += 1
    value = below * spacing
    if value >= 2.0 ** (bias + 1):
        value = math.inf
    return math.copysign(value, x)


# %% right: numpy
import numpy as np


def rounded(x, exponent_bits, mantissa_bits):
    x, bias = np.array(x), 2 ** (exponent_bits - 1) - 1
    power = np.maximum(np.frexp(x)[1] - 1, 1 - bias) - mantissa_bits
    y = np.ldexp(np.rint(np.ldexp(x, -power)), power)
    return np.where(abs(y) < 2.0 ** (bias + 1), y, np.copysign(np.inf, x))  # an array of no dimension
