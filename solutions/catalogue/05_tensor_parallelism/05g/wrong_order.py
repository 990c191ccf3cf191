# expect: come first
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = list(ranks)
    between = [rank if sequence_cut else rank - rank % tensor for rank in ranks]
    return [between, inside]
