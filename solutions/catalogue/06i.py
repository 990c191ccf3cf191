# %% right: cumulated
from itertools import accumulate


def ticks_held(ranks, legs):
    gaps = [gap for leg in legs for gap in [leg] * (ranks - 1) + [1]]
    ticks = list(accumulate([0, *gaps[:-1]]))
    forth, back = ticks[: 2 * ranks], ticks[2 * ranks :][::-1]
    lives = [b - f for f, b in zip(forth, back, strict=True)]
    return tuple((lives[rank], lives[2 * ranks - 1 - rank]) for rank in range(ranks))


# %% right: formula
def ticks_held(ranks, legs):
    a, b, c, d = legs
    far = ranks - 1
    return [[far * (a + b + c) + 3 + (far - rank) * d - rank * a, 1 + rank * (b + c)] for rank in range(ranks)]
