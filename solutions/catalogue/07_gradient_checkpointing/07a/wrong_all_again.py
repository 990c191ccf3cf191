# expect: The last segment is stored at once
def fewest_held(layers):
    k = min(range(1, layers + 1), key=lambda k: k + layers // k)
    return [k, k + layers // k, layers]
