# expect: That is the number of the replica
def mended_seeds(tensor, data, sequence_cut):
    ranks = list(range(tensor * data))
    return [ranks, ranks if sequence_cut else [rank // tensor for rank in ranks]]
