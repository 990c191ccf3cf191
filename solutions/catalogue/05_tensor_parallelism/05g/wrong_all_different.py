# expect: the copies differ
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = list(ranks)
    between = list(ranks)
    return [inside, between]
