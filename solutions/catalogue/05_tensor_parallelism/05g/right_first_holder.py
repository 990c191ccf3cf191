def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    holds = [(rank // tensor, rank % tensor if sequence_cut else 0) for rank in ranks]
    return list(ranks), [holds.index(numbers) for numbers in holds]
