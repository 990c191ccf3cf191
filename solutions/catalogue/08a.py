# %% right: fractions
from fractions import Fraction


def value_of(bits: str, exponent_bits: int) -> float:
    sign, exponent, mantissa = bits[0], bits[1 : exponent_bits + 1], bits[exponent_bits + 1 :]
    if "0" not in exponent:
        return float("-inf") if sign == "1" else math.inf
    value = Fraction(1 if "1" in exponent else 0)
    for place, bit in enumerate(mantissa, start=1):
        value += Fraction(int(bit), 2**place)
    power = max(int(exponent, 2), 1) - 2 ** (exponent_bits - 1) + 1
    value *= Fraction(2) ** power
    return float(-value if sign == "1" else value)


# %% right: integers
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
