# expect: not in front of all
def one_bit(row):
    a = [x for x in row if x >= 0]
    b = [x for x in row if x < 0]
    m = [sum(a) / len(a) if a else 0, sum(b) / len(b) if b else 0]
    bits = "".join("1" if x < 0 else "0" for x in row)
    bits = "0" * (-len(bits) % 8) + bits
    return [m, [int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)], [m[1] if x < 0 else m[0] for x in row]]
