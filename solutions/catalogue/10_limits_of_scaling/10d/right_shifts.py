def one_bit(row):
    sums, counts, packed = [0, 0], [0, 0], [0] * ((len(row) + 7) // 8)
    for place, x in enumerate(row):
        sign = 1 if x < 0 else 0
        sums[sign] += x
        counts[sign] += 1
        packed[place // 8] |= sign << (7 - place % 8)
    means = [total / max(count, 1) for total, count in zip(sums, counts, strict=False)]
    arrives = [means[packed[i // 8] >> (7 - i % 8) & 1] for i in range(len(row))]
    return means, packed, arrives
