# %% right: shifts
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


# %% right: torch
def one_bit(row):
    numbers = torch.tensor(row, dtype=torch.float64)
    negative = numbers < 0
    means = torch.stack([numbers[sign].sum() / sign.sum().clamp(min=1) for sign in (~negative, negative)])
    eights = torch.nn.functional.pad(negative.long(), (0, -len(row) % 8)).view(-1, 8)
    return [means, eights @ 2 ** torch.arange(7, -1, -1), torch.where(negative, means[1], means[0])]
