from functools import reduce


def trained_weight(weight, updates):
    return reduce(lambda w, update: fp16(w + update), updates, weight), fp16(weight + sum(updates))
