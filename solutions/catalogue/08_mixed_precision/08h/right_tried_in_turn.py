def block_exponents(values, size):
    found = []
    while values:
        block, values = values[:size], values[size:]
        fitting = (k for k in range(-127, 128) if all(abs(v) / 2.0**k <= 448 for v in block))
        found.append(next(fitting))
    return tuple(found)
