# expect: it is infinity
def rounded(x, exponent_bits, mantissa_bits):
    if x == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - bias) - mantissa_bits)
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return math.copysign(min(round(abs(x) / spacing) * spacing, largest), x)
