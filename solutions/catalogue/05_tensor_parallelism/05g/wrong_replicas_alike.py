# expect: Replicas have other examples: inside
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = [rank % tensor for rank in ranks]
    between = [rank if sequence_cut else rank - rank % tensor for rank in ranks]
    return [inside, between]
