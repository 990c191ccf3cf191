def ticks_held(ranks, legs):
    a, b, c, d = legs
    far = ranks - 1
    return [[far * (a + b + c) + 3 + (far - rank) * d - rank * a, 1 + rank * (b + c)] for rank in range(ranks)]
