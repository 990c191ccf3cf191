# expect: they all drop the same
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = [rank - rank % tensor for rank in ranks]
    between = [rank if sequence_cut else rank - rank % tensor for rank in ranks]
    return [inside, between]
