# expect: there still are numbers, the subnormal ones
def rounded(x, exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    if abs(x) < 2.0 ** (1 - bias):
        return 0.0
    spacing = 2.0 ** (math.frexp(x)[1] - 1 - mantissa_bits)
    nearest = round(x / spacing) * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return nearest if abs(nearest) <= largest else math.copysign(math.inf, x)
