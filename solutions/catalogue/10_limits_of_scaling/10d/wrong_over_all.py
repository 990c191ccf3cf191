# expect: not by all
def one_bit(row):
    groups = [x for x in row if x >= 0], [x for x in row if x < 0]
    means = [sum(group) / len(row) for group in groups]
    bits = "".join("1" if x < 0 else "0" for x in row)
    packed = [int(bits[i : i + 8].ljust(8, "0"), 2) for i in range(0, len(bits), 8)]
    arrives = [means[int(bit)] for bit in bits]
    return [means, packed, arrives]
