# expect: √n is near the best number
from math import sqrt


def fewest_held(layers):
    k = round(sqrt(layers))
    return [k, k + layers // k, layers - layers // k]
