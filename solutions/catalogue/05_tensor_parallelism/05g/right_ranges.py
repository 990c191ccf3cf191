def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    return ranks, ranks if sequence_cut else [rank - rank % tensor for rank in ranks]
