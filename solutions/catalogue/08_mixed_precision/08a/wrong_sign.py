# expect: The first bit is the sign
def value_of(bits, exponent_bits):
    exponent, mantissa = int(bits[1 : 1 + exponent_bits], 2), bits[1 + exponent_bits :]
    bias = 2 ** (exponent_bits - 1) - 1
    if exponent == 2**exponent_bits - 1:
        return math.inf
    return ((exponent > 0) + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0 ** (max(exponent, 1) - bias)
