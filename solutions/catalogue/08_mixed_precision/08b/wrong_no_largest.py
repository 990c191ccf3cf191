# expect: A format has a largest number
def rounded(x, exponent_bits, mantissa_bits):
    if x == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - bias) - mantissa_bits)
    return round(x / spacing) * spacing
