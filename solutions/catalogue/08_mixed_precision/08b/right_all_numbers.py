def rounded(x, exponent_bits, mantissa_bits):
    bias, steps = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits

    def value(code):  # the codes of positive numbers stand in order
        exponent, mantissa = divmod(code, steps)
        return math.ldexp(mantissa + steps * (exponent > 0), max(exponent, 1) - bias - mantissa_bits)

    low, high = 0, (2**exponent_bits - 1) * steps
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= abs(x) else (low, middle)
    left, right = abs(x) - value(low), value(high) - abs(x)
    code = low if left < right or (left == right and low % 2 == 0) else high
    found = math.inf if code == (2**exponent_bits - 1) * steps else value(code)
    return -found if x < 0 else found
