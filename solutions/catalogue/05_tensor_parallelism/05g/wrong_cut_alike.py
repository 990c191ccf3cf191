# expect: Where the sequence is cut
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = list(ranks)
    between = [rank - rank % tensor for rank in ranks]
    return [inside, between]
