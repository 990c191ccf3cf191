# expect: That is what it gave before
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = list(ranks)
    between = [0 for rank in ranks]
    return [inside, between]
