def rounded(x, exponent_bits, mantissa_bits):
    bias = 2 ** (exponent_bits - 1) - 1
    power = 1 - bias
    while 2.0 ** (power + 1) <= abs(x):
        power += 1
    spacing = 2.0 ** (power - mantissa_bits)
    below = math.floor(abs(x) / spacing)
    beyond = abs(x) / spacing - below
    if beyond > 0.5 or (beyond == 0.5 and below % 2 == 1):
        below += 1
    value = below * spacing
    if value >= 2.0 ** (bias + 1):
        value = math.inf
    return math.copysign(value, x)
