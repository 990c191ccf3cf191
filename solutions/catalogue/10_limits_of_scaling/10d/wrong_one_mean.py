# expect: Each sign has a mean of its own
def one_bit(row):
    mean = sum(abs(x) for x in row) / len(row)
    bits = "".join("1" if x < 0 else "0" for x in row)
    packed = [int(bits[i : i + 8].ljust(8, "0"), 2) for i in range(0, len(bits), 8)]
    return [[mean, -mean], packed, [-mean if x < 0 else mean for x in row]]
