# %% right: first_holder
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    holds = [(rank // tensor, rank % tensor if sequence_cut else 0) for rank in ranks]
    return list(ranks), [holds.index(numbers) for numbers in holds]


# %% right: groups
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    inside = list(ranks)
    between = [rank if sequence_cut else rank - rank % tensor for rank in ranks]
    return [inside, between]


# %% right: ranges
def mended_seeds(tensor, data, sequence_cut):
    ranks = range(tensor * data)
    return ranks, ranks if sequence_cut else [rank - rank % tensor for rank in ranks]


# %% right: starmap
from itertools import starmap


def mended_seeds(tensor, data, sequence_cut):
    n = tensor * data
    return range(n), (
        range(n)
        if sequence_cut
        else starmap(lambda d, _: d * tensor, [(d, t) for d in range(data) for t in range(tensor)])
    )
