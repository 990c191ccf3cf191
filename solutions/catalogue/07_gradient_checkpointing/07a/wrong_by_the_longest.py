# expect: The longer segments come first
from math import ceil


def fewest_held(layers):
    k = min(range(1, layers + 1), key=lambda k: k + ceil(layers / k))
    return [k, k + ceil(layers / k), layers - layers // k]
