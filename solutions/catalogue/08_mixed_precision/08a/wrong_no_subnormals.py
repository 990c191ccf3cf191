# expect: With an exponent of zeros there is no leading 1
def value_of(bits, exponent_bits):
    sign = -1.0 if bits[0] == "1" else 1.0
    exponent, mantissa = int(bits[1 : 1 + exponent_bits], 2), bits[1 + exponent_bits :]
    bias = 2 ** (exponent_bits - 1) - 1
    if exponent == 2**exponent_bits - 1:
        return sign * math.inf
    return sign * (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0 ** (exponent - bias)
