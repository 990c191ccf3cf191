# expect: the last output is held as well
def fewest_held(layers):
    k = min(range(1, layers + 1), key=lambda k: k + layers // k)
    return [k, k + layers // k - 1, layers - layers // k]
