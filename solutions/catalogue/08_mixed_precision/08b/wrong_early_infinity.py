# expect: not yet infinity
def rounded(x, exponent_bits, mantissa_bits):
    if x == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    if abs(x) > (2 - 2.0**-mantissa_bits) * 2.0**bias:
        return math.copysign(math.inf, x)
    spacing = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - bias) - mantissa_bits)
    return round(x / spacing) * spacing
