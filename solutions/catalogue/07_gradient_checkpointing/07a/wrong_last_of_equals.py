# expect: take the one that recomputes least
def fewest_held(layers):
    best = 1
    for k in range(1, layers + 1):
        if k + layers // k <= best + layers // best:
            best = k
    return [best, best + layers // best, layers - layers // best]
