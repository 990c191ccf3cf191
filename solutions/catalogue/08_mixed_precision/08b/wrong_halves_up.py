# expect: halves do not always go up
def rounded(x, exponent_bits, mantissa_bits):
    if x == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    spacing = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - bias) - mantissa_bits)
    nearest = math.floor(abs(x) / spacing + 0.5) * spacing
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    return math.copysign(nearest if nearest <= largest else math.inf, x)
