# expect: Below 2^(1 - bias) the spacing stays as it is
def rounded(x, exponent_bits, mantissa_bits):
    if x == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (math.frexp(x)[1] - 1 - mantissa_bits)
    nearest = round(x / spacing) * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return nearest if abs(nearest) <= largest else math.copysign(math.inf, x)
