def block_exponents(values, size):
    blocks = [values[start : start + size] for start in range(0, len(values), size)]
    tops = [max(map(abs, block)) for block in blocks]
    return [max(-127, math.ceil(math.log2(top / 448))) if top else -127 for top in tops]
