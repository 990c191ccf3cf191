# %% right: logarithm
def block_exponents(values, size):
    blocks = [values[start : start + size] for start in range(0, len(values), size)]
    tops = [max(map(abs, block)) for block in blocks]
    return [max(-127, math.ceil(math.log2(top / 448))) if top else -127 for top in tops]


# %% right: tried_in_turn
def block_exponents(values, size):
    found = []
    while values:
        block, values = values[:size], values[size:]
        fitting = (k for k in range(-127, 128) if all(abs(v) / 2.0**k <= 448 for v in block))
        found.append(next(fitting))
    return tuple(found)
