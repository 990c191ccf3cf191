def value_of(bits, exponent_bits):
    mantissa_bits = len(bits) - exponent_bits - 1
    code = int(bits, 2)
    mantissa, rest = code % 2**mantissa_bits, code >> mantissa_bits
    exponent, negative = rest % 2**exponent_bits, rest >> exponent_bits
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        value = float("inf")
    else:
        whole = mantissa + (2**mantissa_bits if exponent else 0)
        value = math.ldexp(whole, max(exponent, 1) - bias - mantissa_bits)
    return -value if negative else value
