# expect: Subnormal numbers have the exponent 1 - bias
def value_of(bits, exponent_bits):
    sign = -1.0 if bits[0] == "1" else 1.0
    exponent, mantissa = int(bits[1 : 1 + exponent_bits], 2), bits[1 + exponent_bits :]
    bias = 2 ** (exponent_bits - 1) - 1
    if exponent == 2**exponent_bits - 1:
        return sign * math.inf
    return sign * ((exponent > 0) + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0 ** (exponent - bias)
